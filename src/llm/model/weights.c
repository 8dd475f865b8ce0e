/* The weights of a model: every part of parts.def that its file has, and what must be there.
 * What products and passes want in another form is made here. Called by model.c. */

/* ---- what must be there -------------------------------------------------------------------------------- */

static ox_status oxi_llm_need(const ox_llm *model, int64_t layer, oxi_llm_layer_role role) {
    if (model->layers[layer].part[role].weight) return OX_OK;
    return oxi_fail(OX_ERR_NOT_FOUND, "llm: tensor %sblk.%lld.%s.weight is missing", oxi_llm_prefix_of(model),
                    (long long)layer, oxi_llm_layer_parts[role].name);
}

/* Attention whose keys are the values too, and the rows of blocks. */
static ox_status oxi_llm_check_one_key(const ox_llm *model, const oxi_llm_layer *l, int64_t i) {
    const bool chooses = model->numbers.indexed && l->overlaps;
    ox_status status = oxi_llm_need(model, i, OXI_LLM_KEY);
    if (!status) status = oxi_llm_need(model, i, OXI_LLM_KEY_NORM);
    for (int role = OXI_LLM_BLOCK_VALUE; role <= OXI_LLM_BLOCK_NORM && l->ratio > 0 && !status; role++)
        status = oxi_llm_need(model, i, (oxi_llm_layer_role)role);
    for (int role = OXI_LLM_INDEX_BLOCK_VALUE; role <= OXI_LLM_INDEX_BLOCK_NORM && chooses && !status; role++)
        status = oxi_llm_need(model, i, (oxi_llm_layer_role)role);
    if (!status && chooses) status = oxi_llm_need(model, i, OXI_LLM_INDEX_QUERY);
    if (!status && chooses) status = oxi_llm_need(model, i, OXI_LLM_INDEX_WEIGHTS);
    if (!status && model->numbers.merge_groups > 0) status = oxi_llm_need(model, i, OXI_LLM_MERGE_DOWN);
    if (!status && (l->kv_heads != 1 || l->key_size != l->value_size))
        return oxi_fail(OX_ERR_FORMAT, "llm: %lld keys of %lld numbers, values of %lld, of which one is both",
                        (long long)l->kv_heads, (long long)l->key_size, (long long)l->value_size);
    return status;
}

/* An indexer, which the first layer must have. */
static ox_status oxi_llm_check_indexer(const ox_llm *model, const oxi_llm_layer *l, int64_t i) {
    if (!model->numbers.indexed || (i > 0 && !l->part[OXI_LLM_INDEX_QUERY].weight)) return OX_OK;
    ox_status status = oxi_llm_need(model, i, OXI_LLM_QUERY_DOWN);
    for (int role = OXI_LLM_INDEX_QUERY; role <= OXI_LLM_INDEX_KEY_NORM && !status; role++)
        status = oxi_llm_need(model, i, (oxi_llm_layer_role)role);
    return status;
}

/* Heads whose queries and results have experts: as many for each of the keys as a token takes. */
static ox_status oxi_llm_check_query_experts(const ox_llm *model, int64_t i) {
    static const oxi_llm_layer_role roles[] = {OXI_LLM_QUERY_EXPERTS, OXI_LLM_MERGE_EXPERTS, OXI_LLM_KEY,
                                               OXI_LLM_VALUE};
    const int64_t each = model->layers[i].heads / model->layers[i].kv_heads;
    ox_status status = OX_OK;
    for (size_t k = 0; k < sizeof roles / sizeof *roles && !status; k++)
        status = oxi_llm_need(model, i, roles[k]);
    if (!status && each > model->numbers.experts)
        return oxi_fail(OX_ERR_FORMAT, "llm: layer %lld has %lld queries for a key, of %lld experts",
                        (long long)i, (long long)each, (long long)model->numbers.experts);
    return status;
}

/* Heads of which the second half is taken off the first: how much, of four vectors.
 * source: Ye et al. 2024, "Differential Transformer" */
static ox_status oxi_llm_check_difference(oxi_llm_layer *l, int64_t i) {
    const int64_t size = l->key_size, count = 4 * size;
    ox_tensor *t = l->part[OXI_LLM_DIFFERENCE].weight;
    if (ox_numel(t) != count || size != l->value_size || l->heads % 2 || (l->kv_heads > 1 && l->kv_heads % 2))
        return oxi_fail(OX_ERR_SHAPE, "llm: tensor blk.%lld.attn_lambda.weight is %s, of %lld heads of %lld",
                        (long long)i, oxi_tensor_text(t), (long long)l->heads, (long long)size);
    float *v = (float *)oxi_alloc((size_t)count * sizeof *v);
    if (!v) return OX_ERR_NOMEM;
    const ox_status status = ox_to_floats(t, v, count);
    const double start = 0.8 - 0.6 * exp(-0.3 * (double)i);
    double sums[2] = {0, 0};
    for (int64_t k = 0; k < size && !status; k++) {
        sums[0] += (double)v[k] * (double)v[size + k];
        sums[1] += (double)v[2 * size + k] * (double)v[3 * size + k];
    }
    l->difference = exp(sums[0]) - exp(sums[1]) + start;
    l->difference_scale = 1 - start;
    oxi_free(v, (size_t)count * sizeof *v);
    return status;
}

static ox_status oxi_llm_check_attention(const ox_llm *model, const oxi_llm_layer *l, int64_t i) {
    ox_status status = OX_OK;
    const bool one = oxi_llm_has_trait(model, OXI_LLM_TRAIT(KEY_IS_VALUE));
    if (l->part[OXI_LLM_QUERY_ROUTER].weight) return oxi_llm_check_query_experts(model, i);
    if (model->numbers.latent || one) {
        status = oxi_llm_need(model, i, l->part[OXI_LLM_QUERY].weight ? OXI_LLM_QUERY : OXI_LLM_QUERY_UP);
        if (!status && !l->part[OXI_LLM_QUERY].weight) status = oxi_llm_need(model, i, OXI_LLM_QUERY_DOWN);
        if (!status && !l->part[OXI_LLM_QUERY].weight)
            status = oxi_llm_need(model, i, OXI_LLM_QUERY_DOWN_NORM);
    }
    if (one) {
        status = status ? status : oxi_llm_check_one_key(model, l, i);
    } else if (model->numbers.latent) {
        if (!status) status = oxi_llm_need(model, i, OXI_LLM_LATENT);
        if (!status) status = oxi_llm_need(model, i, OXI_LLM_LATENT_NORM);
        if (!status && !l->part[OXI_LLM_LATENT_UP].weight)
            status = oxi_llm_need(model, i, OXI_LLM_LATENT_KEY);
        if (!status && !l->part[OXI_LLM_LATENT_UP].weight)
            status = oxi_llm_need(model, i, OXI_LLM_LATENT_VALUE);
        if (!status) status = oxi_llm_check_indexer(model, l, i);
    } else if (!l->part[OXI_LLM_QUERY_KEY_VALUE].weight) {
        status = oxi_llm_need(model, i, OXI_LLM_QUERY);
        const bool own = l == &model->layers[l->keys_of];
        if (!status && own) status = oxi_llm_need(model, i, OXI_LLM_KEY);
        if (!status && own && !l->part[OXI_LLM_VALUE_ROUTER].weight &&
            !oxi_llm_has_trait(model, OXI_LLM_TRAIT(VALUE_NORMED)))
            status = oxi_llm_need(model, i, OXI_LLM_VALUE);
        if (!status && l->part[OXI_LLM_VALUE_ROUTER].weight)
            status = oxi_llm_need(model, i, OXI_LLM_VALUE_EXPERTS);
    }
    if (!status && model->numbers.buckets > 0 && i == 0) status = oxi_llm_need(model, i, OXI_LLM_RELATIVE);
    for (int role = OXI_LLM_CROSS_NORM; role <= OXI_LLM_CROSS_MERGE; role++)
        if (!status && oxi_llm_has_trait(model, OXI_LLM_TRAIT(AFTER_ENCODER)))
            status = oxi_llm_need(model, i, (oxi_llm_layer_role)role);
    return status ? status : oxi_llm_need(model, i, OXI_LLM_MERGE);
}

static ox_status oxi_llm_check_feed_forward(const ox_llm *model, const oxi_llm_layer *l, int64_t i) {
    if (!l->part[OXI_LLM_ROUTER].weight) {
        const ox_status status = oxi_llm_need(model, i, OXI_LLM_UP);
        return status ? status : oxi_llm_need(model, i, OXI_LLM_DOWN);
    }
    ox_status status = oxi_llm_need(model, i, OXI_LLM_EXPERTS_DOWN);
    if (!status && i < model->numbers.table_layers) status = oxi_llm_need(model, i, OXI_LLM_ROUTER_TABLE);
    if (!status && l->part[OXI_LLM_EXPERTS_PRE_NORM].weight) {
        status = oxi_llm_need(model, i, OXI_LLM_UP);
        if (!status) status = oxi_llm_need(model, i, OXI_LLM_DOWN);
        if (!status) status = oxi_llm_need(model, i, OXI_LLM_ROUTER_SCALE);
    }
    if (!status && !l->part[OXI_LLM_EXPERTS_GATE_UP].weight)
        status = oxi_llm_need(model, i, OXI_LLM_EXPERTS_UP);
    if (!status && l->part[OXI_LLM_CHUNKS_DOWN].weight) {
        const ox_tensor *down = l->part[OXI_LLM_CHUNKS_DOWN].weight;
        status = oxi_llm_need(model, i, OXI_LLM_CHUNKS_UP);
        for (int role = OXI_LLM_CHUNKS_GATE; !status && role <= OXI_LLM_CHUNKS_UP; role++) {
            const ox_tensor *t = l->part[role].weight;
            if (t && t->shape[1] != down->shape[2])
                status = oxi_fail(OX_ERR_SHAPE, "llm: tensor blk.%lld.%s.weight is %s", (long long)i,
                                  oxi_llm_layer_parts[role].name, oxi_tensor_text(t));
        }
    }
    if (!status && l->part[OXI_LLM_SHARED_UP].weight) status = oxi_llm_need(model, i, OXI_LLM_SHARED_DOWN);
    return status;
}

/* Two matrices behind each other, or one that makes what a mixer mixes. */
static ox_status oxi_llm_check_pair(const ox_llm *model, const oxi_llm_layer *l, int64_t i,
                                    oxi_llm_layer_role first, oxi_llm_layer_role second) {
    const ox_tensor *down = l->part[first].weight, *up = l->part[second].weight;
    const int64_t wanted = up ? up->shape[1] : model->numbers.mixing.inner;
    if (down->shape[0] == wanted) return OX_OK;
    return oxi_fail(OX_ERR_SHAPE, "llm: tensor blk.%lld.%s.weight is %s, asked for are %lld rows",
                    (long long)i, oxi_llm_layer_parts[first].name, oxi_tensor_text(down), (long long)wanted);
}

/* The shares of shifted inputs [shifts, width], in one or in several tensors. */
static ox_status oxi_llm_place_shifts(const ox_llm *model, oxi_llm_layer *l, int64_t layer) {
    const int64_t width = model->config.width, shifts = model->numbers.mixing.shifts;
    oxi_llm_part *p = l->part;
    ox_tensor *list[5], **place = &p[OXI_LLM_SHIFT].weight;
    ox_scope scope = ox_scope_begin();
    for (int i = 0; i < 5; i++) list[i] = p[OXI_LLM_SHIFT_DECAY + i].weight;
    const bool parts = list[0] && list[1] && list[2] && list[3] && list[4];
    ox_tensor *all = *place ? ox_flatten(*place, 0, -1) : parts && shifts == 5 ? ox_cat(list, 5, 0) : NULL;
    const int64_t count = all ? ox_numel(all) : 0;
    const bool fits = count == shifts * width || (count == 5 * width && !p[OXI_LLM_MIXER_GATE].weight);
    ox_tensor *shares = fits ? ox_reshape(all, OX_SHAPE(count / width, width)) : NULL;
    if (shares) {
        ox_release(*place);
        *place = ox_retain(shares);
    }
    ox_scope_end(&scope);
    if (shares) return OX_OK;
    return oxi_fail(count ? OX_ERR_SHAPE : OX_ERR_NOT_FOUND,
                    "llm: tensor blk.%lld.%s.weight has %lld numbers, asked for are %lld", (long long)layer,
                    oxi_llm_layer_parts[OXI_LLM_SHIFT].name, (long long)count, (long long)(shifts * width));
}

static ox_status oxi_llm_check_mixer(const ox_llm *model, oxi_llm_layer *l, int64_t i) {
    const oxi_llm_mixer_need *needs = oxi_llm_mixer_kinds[l->mixer].needs;
    const oxi_llm_mixer_need norm = {OXI_LLM_MIXER_NORM, OXI_LLM_SIZE_MIXER_NORM},
                             bonus = {OXI_LLM_MIXER_BONUS, OXI_LLM_SIZE_MIXER_DECAYS};
    const ox_tensor *bias = l->part[OXI_LLM_MIXER_CONV].bias;
    const oxi_llm_part *own = &l->part[OXI_LLM_MIXER_NORM];
    ox_status status = OX_OK;
    for (int k = 0; !status && k < OXI_LLM_MIXER_NEEDS && needs[k].role != OXI_LLM_ATTENTION_NORM; k++)
        status = oxi_llm_count_numbers(model, l, i, &needs[k], oxi_llm_layer_parts[needs[k].role].name);
    if (!status && l->part[OXI_LLM_MIXER_NORM].weight)
        status = oxi_llm_count_numbers(model, l, i, &norm, oxi_llm_layer_parts[norm.role].name);
    if (!status && own->bias && (!own->weight || ox_numel(own->bias) != ox_numel(own->weight)))
        status = oxi_fail(OX_ERR_SHAPE, "llm: tensor blk.%lld.%s.bias is %s", (long long)i,
                          oxi_llm_layer_parts[norm.role].name, oxi_tensor_text(own->bias));
    if (!status && bias && ox_numel(bias) != model->numbers.mixing.size[OXI_LLM_SIZE_MIXER_CHANNELS])
        status = oxi_fail(OX_ERR_SHAPE, "llm: tensor blk.%lld.%s.bias is %s", (long long)i,
                          oxi_llm_layer_parts[OXI_LLM_MIXER_CONV].name, oxi_tensor_text(bias));
    static const oxi_llm_layer_role pairs[][2] = {{OXI_LLM_DECAY_DOWN, OXI_LLM_DECAY_UP},
                                                  {OXI_LLM_MIXER_GATE, OXI_LLM_MIXER_GATE_UP},
                                                  {OXI_LLM_RATE_DOWN, OXI_LLM_RATE_UP},
                                                  {OXI_LLM_VALUE_SHARE_DOWN, OXI_LLM_VALUE_SHARE_UP}};
    for (size_t k = 0; !status && k < sizeof pairs / sizeof *pairs; k++)
        if (l->part[pairs[k][0]].weight) status = oxi_llm_check_pair(model, l, i, pairs[k][0], pairs[k][1]);
    if (!status && model->numbers.mixing.shifts) status = oxi_llm_place_shifts(model, l, i);
    if (!status && l->part[OXI_LLM_MIXER_BONUS].weight)
        status = oxi_llm_count_numbers(model, l, i, &bonus, oxi_llm_layer_parts[bonus.role].name);
    if (!status && l->mixer == OXI_LLM_MIXES_RWKV7 && i > 0) {
        status = oxi_llm_need(model, i, OXI_LLM_VALUE_SHARE);
        if (!status) status = oxi_llm_need(model, i, OXI_LLM_VALUE_SHARE_DOWN);
        if (!status) status = oxi_llm_need(model, i, OXI_LLM_VALUE_SHARE_UP);
    }
    if (!status && l->mixer == OXI_LLM_MIXES_DELTA && !l->part[OXI_LLM_MIXER_BETA_ALPHA].weight) {
        status = oxi_llm_need(model, i, OXI_LLM_MIXER_BETA);
        if (!status) status = oxi_llm_need(model, i, OXI_LLM_MIXER_ALPHA);
    }
    if (!status && (l->mixer == OXI_LLM_MIXES_MAMBA || l->mixer == OXI_LLM_MIXES_GATED))
        status = oxi_llm_place_rates(model, l);
    return status || model->numbers.mixing.taps == 0 ? status : oxi_llm_place_kernel(model, l);
}

/* ---- matrices of heads --------------------------------------------------------------------------------- */

/* The matrices that make a head's plain keys [heads, latent, plain] and values [heads, value, latent] of the
 * latent, of one in the file. Values lie in it as products take them; keys do not, and are in f32. */
static void oxi_llm_split_latent(const ox_llm *model, const oxi_llm_layer *l, ox_tensor **keys,
                                 ox_tensor **values) {
    const oxi_llm_numbers *n = &model->numbers;
    const int64_t plain = n->latent_key - model->rope.size;
    ox_tensor *both =
        ox_unflatten(l->part[OXI_LLM_LATENT_UP].weight, 0, OX_SHAPE(l->heads, plain + n->latent_value));
    ox_tensor *wide = ox_narrow(both, 1, 0, plain);
    if (wide && wide->dtype != OX_F32) wide = ox_cast(wide, OX_F32);
    *keys = ox_transpose(wide, 1, 2);
    *values = ox_narrow(both, 1, plain, n->latent_value);
}

static void oxi_llm_leave_shared(void *memory, void *data) {
    (void)data;
    ox_release((ox_tensor *)memory);
}

/* t in memory that it shares with those of other layers, which lies in large pages: products by heads read a
 * few small matrices at a time, and to find a small page takes as long as to read it. What is large, or finds
 * no place, stays where it is. It may be repacked there, which is forgotten with the memory. */
static ox_tensor *oxi_llm_place_beside(const ox_llm *model, oxi_llm_shared_memory *shared, ox_tensor *t) {
    size_t bytes = t ? oxi_align_up(ox_nbytes(t)) : 0, all;
    if (bytes == 0 || bytes >= OXI_HUGE_PAGE) return t;
    if (!shared->memory) {
        if (!oxi_mul_size(bytes, (size_t)model->config.layers, &all)) return t;
        const int64_t shape = (int64_t)all;
        if (!(shared->memory = ox_retain(oxi_tensor_new(ox_cpu(), OX_U8, 1, &shape)))) return NULL;
        shared->memory->storage->layout = &oxi_repacked_layout;
    }
    if (bytes > ox_nbytes(shared->memory) - shared->used) return t;
    char *data = oxi_ptr(shared->memory) + shared->used;
    memcpy(data, oxi_ptr(t), ox_nbytes(t));
    shared->used += bytes;
    ox_tensor *placed =
        ox_from_blob(data, ox_shape_of(t), NULL, t->dtype, oxi_llm_leave_shared, ox_retain(shared->memory));
    if (!placed) ox_release(shared->memory);
    if (placed && oxi_is_block(t->dtype)) placed->storage->layout = &oxi_repacked_layout;
    return placed;
}

/* Matrices that are multiplied head by head are kept in their dtype, where they do not stream. Of one that is
 * split, blocks of keys, whose scales would lie across their rows, become Q8_0, or f16 where rows are not
 * whole blocks of that. A GPU has blocks in f16, also of a file that has them split: there to begin, and to
 * unpack them head by head for each token, takes longer than to read. */
static ox_status oxi_llm_place_head_matrices(ox_llm *model, oxi_llm_layer *l) {
    static const oxi_llm_layer_role roles[2] = {OXI_LLM_LATENT_KEY, OXI_LLM_LATENT_VALUE};
    oxi_llm_part *p = l->part;
    bool done = true;
    ox_scope scope = ox_scope_begin();
    const ox_tensor *up = p[OXI_LLM_LATENT_UP].weight;
    if (up && l->attends && model->numbers.latent && ox_device_of(up) == model->device) {
        ox_tensor *made[2] = {NULL, NULL};
        const bool blocks = oxi_is_block(up->dtype), cpu = model->device == ox_cpu();
        const bool whole = (model->numbers.latent_key - model->rope.size) % 32 == 0;
        const ox_dtype keys = blocks && whole && cpu ? OX_Q8_0 : blocks ? OX_F16 : up->dtype;
        const ox_dtype dtype[2] = {keys, blocks && !cpu ? OX_F16 : up->dtype};
        oxi_llm_split_latent(model, l, &made[0], &made[1]);
        for (int i = 0; i < 2; i++) {
            made[i] = ox_cast(ox_contiguous(made[i]), dtype[i]);
            if (cpu) made[i] = oxi_llm_place_beside(model, &model->by_head[i], made[i]);
            ox_release(p[roles[i]].weight);
            p[roles[i]].weight = ox_retain(made[i]);
            done = done && made[i];
        }
        oxi_llm_free_part(&p[OXI_LLM_LATENT_UP]);
    }
    for (int i = 0; i < 2 && l->attends && model->device != ox_cpu(); i++) {
        ox_tensor *given = p[roles[i]].weight;
        if (!given || !oxi_is_block(given->dtype) || ox_device_of(given) != model->device) continue;
        ox_tensor *halves = ox_cast(given, OX_F16);
        ox_release(p[roles[i]].weight);
        p[roles[i]].weight = ox_retain(halves);
        done = done && halves;
    }
    ox_scope_end(&scope);
    return done ? OX_OK : oxi_llm_error();
}

static ox_status oxi_llm_check_norms(const ox_llm *model, const oxi_llm_layer *l, int64_t i) {
    /* of each block: before, after and behind the sum; attention's, then the feed-forward's */
    static const oxi_llm_layer_role wanted[][4] = {
        {OXI_LLM_ATTENTION_NORM, OXI_LLM_HIDDEN_NORM, OXI_LLM_LAYER_ROLES, OXI_LLM_LAYER_ROLES},
        {OXI_LLM_ATTENTION_POST_NORM, OXI_LLM_HIDDEN_POST_NORM, OXI_LLM_LAYER_ROLES, OXI_LLM_LAYER_ROLES},
        {OXI_LLM_ATTENTION_NORM, OXI_LLM_HIDDEN_NORM, OXI_LLM_ATTENTION_POST_NORM, OXI_LLM_HIDDEN_POST_NORM},
        {OXI_LLM_ATTENTION_NORM, OXI_LLM_LAYER_ROLES, OXI_LLM_LAYER_ROLES, OXI_LLM_LAYER_ROLES},
        {OXI_LLM_ATTENTION_SUM_NORM, OXI_LLM_LAYER_SUM_NORM, OXI_LLM_LAYER_ROLES, OXI_LLM_LAYER_ROLES}};
    ox_status status = OX_OK;
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(BARE_NORMS)) || model->numbers.hyper_rank > 0) return OX_OK;
    for (int k = 0; k < 4 && !status; k++) {
        const oxi_llm_layer_role role = wanted[model->numbers.block][k];
        if (role == OXI_LLM_ATTENTION_NORM && i == 0 && oxi_llm_has_trait(model, OXI_LLM_TRAIT(FIRST_BARE)))
            continue;
        if (role == OXI_LLM_HIDDEN_NORM && oxi_llm_has_trait(model, OXI_LLM_TRAIT(PARALLEL_WITHOUT)))
            continue;
        if ((role == OXI_LLM_HIDDEN_NORM || role == OXI_LLM_HIDDEN_POST_NORM) && !l->feeds) continue;
        if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(NORMS_VARY)) && (k < 2) == (l->mixer == 0)) continue;
        if (role != OXI_LLM_LAYER_ROLES) status = oxi_llm_need(model, i, role);
    }
    return status;
}

/* ---- residual rows ------------------------------------------------------------------------------------- */

/* The factors of what mixes residual rows, one a number: of three, what is read, what is taken, what is
 * mixed. */
static ox_status oxi_llm_place_mix_scale(const ox_llm *model, oxi_llm_part *scale, int64_t count, int kinds) {
    const int64_t rows = model->numbers.hyper;
    float given[3], *all;
    if (ox_numel(scale->weight) != kinds)
        return oxi_fail(OX_ERR_SHAPE, "llm: %s factors of residual rows, asked for are %d",
                        oxi_tensor_text(scale->weight), kinds);
    ox_status status = ox_to_floats(scale->weight, given, kinds);
    if (status || kinds == 1) return status;
    all = (float *)oxi_alloc((size_t)count * sizeof *all);
    if (!all) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < count; i++) all[i] = given[i < 2 * rows ? i / rows : 2];
    ox_scope scope = ox_scope_begin();
    ox_tensor *t = ox_to(oxi_copied(all, OX_SHAPE(count), OX_F32), model->device);
    if (t) {
        ox_release(scale->weight);
        scale->weight = ox_retain(t);
    }
    ox_scope_end(&scope);
    oxi_free(all, (size_t)count * sizeof *all);
    return t ? OX_OK : oxi_llm_error();
}

/* What hyper-connections and attention to earlier rows must have, of a layer. */
static ox_status oxi_llm_check_residual(const ox_llm *model, oxi_llm_layer *l, int64_t i) {
    static const oxi_llm_layer_role first[] = {OXI_LLM_ATTENTION_MIX, OXI_LLM_HIDDEN_MIX},
                                    score[] = {OXI_LLM_ATTENTION_KEPT_SCORE, OXI_LLM_HIDDEN_KEPT_SCORE};
    const oxi_llm_numbers *n = &model->numbers;
    const int from = n->hyper_rank > 0 ? OXI_LLM_ATTENTION_MIX_NORM - OXI_LLM_ATTENTION_MIX : 0;
    const int count = n->hyper == 0 ? 0 : n->hyper_rank > 0 ? 4 : 3; /* the first three, or those behind */
    ox_status status = OX_OK;
    for (int half = 0; half < 2 && !status; half++) {
        if (n->bank > 0) status = oxi_llm_need(model, i, score[half]);
        for (int k = 0; k < count && !status; k++)
            status = oxi_llm_need(model, i, (oxi_llm_layer_role)((int)first[half] + from + k));
        if (!status && count > 0 && from == 0)
            status = oxi_llm_place_mix_scale(model, &l->part[first[half] + 2],
                                             oxi_llm_size_of(model, l, OXI_LLM_SIZE_HYPER_MIXES),
                                             n->hyper_rounds > 0 ? 3 : 2);
    }
    return status;
}

/* The same of the model. A model without a mixture at its end has the mean. */
static ox_status oxi_llm_check_last_rows(ox_llm *model) {
    const oxi_llm_numbers *n = &model->numbers;
    const oxi_llm_part *p = model->part;
    const bool gated = n->hyper > 0 && n->hyper_rank > 0, mixed = n->hyper > 0 && p[OXI_LLM_HYPER_MIX].weight;
    if ((n->bank > 0 && !p[OXI_LLM_KEPT_SCORE].weight) ||
        (gated &&
         (!p[OXI_LLM_HYPER_NORM].weight || !p[OXI_LLM_HYPER_DOWN].weight || !p[OXI_LLM_HYPER_UP].weight)) ||
        (mixed && (!p[OXI_LLM_HYPER_BASE].weight || !p[OXI_LLM_HYPER_SCALE].weight)))
        return oxi_fail(OX_ERR_NOT_FOUND, "llm: what reads the last residual rows is missing");
    return mixed ? oxi_llm_place_mix_scale(model, &model->part[OXI_LLM_HYPER_SCALE], n->hyper, 1) : OX_OK;
}

/* ---- n-grams ------------------------------------------------------------------------------------------- */

/* The table of a model whose files lists layers with n-grams. */
static ox_status oxi_llm_check_gram_table(const ox_llm *model) {
    const oxi_llm_grams *g = &model->grams;
    const ox_tensor *table = model->part[OXI_LLM_GRAMS].weight;
    if (g->rows > 0 && !table)
        return oxi_fail(OX_ERR_NOT_FOUND, "llm: tensor %s.weight is missing",
                        oxi_llm_model_parts[OXI_LLM_GRAMS].name);
    for (int64_t i = 0; i < g->rows; i++)
        if (g->first[i] + g->count[i] > (uint64_t)table->shape[0])
            return oxi_fail(OX_ERR_SHAPE, "llm: the table of n-grams is %s, asked for is row %lld",
                            oxi_tensor_text(table), (long long)(g->first[i] + g->count[i] - 1));
    return OX_OK;
}

/* What layers take of a token beside: a table of rows for all of them, a matrix and a norm. */
static ox_status oxi_llm_check_inputs(const ox_llm *model) {
    const oxi_llm_part *p = model->part;
    const int64_t columns = model->numbers.input * model->config.layers;
    if (model->numbers.alternate > 0 && (!p[OXI_LLM_ALTERNATE_IN].weight || !p[OXI_LLM_ALTERNATE_OUT].weight))
        return oxi_fail(OX_ERR_NOT_FOUND,
                        "llm: tensor altup_proj.weight or altup_unembd_proj.weight is missing");
    if (columns == 0) return OX_OK;
    if (!p[OXI_LLM_GRAMS].weight || !p[OXI_LLM_INPUTS].weight || !p[OXI_LLM_INPUTS_NORM].weight)
        return oxi_fail(OX_ERR_NOT_FOUND,
                        "llm: a tensor of what layers take beside, per_layer_*, is missing");
    if (p[OXI_LLM_GRAMS].weight->shape[1] == columns) return OX_OK;
    return oxi_fail(OX_ERR_SHAPE, "llm: tensor %s.weight is %s, asked for are %lld columns",
                    oxi_llm_model_parts[OXI_LLM_GRAMS].name, oxi_tensor_text(p[OXI_LLM_GRAMS].weight),
                    (long long)columns);
}

/* Residual rows that are guessed. */
static ox_status oxi_llm_check_alternate(const ox_llm *model, const oxi_llm_layer *l, int64_t i) {
    const oxi_llm_part *p = l->part;
    ox_status status = OX_OK;
    if (p[OXI_LLM_PAST_DOWN].weight) {
        status = oxi_llm_need(model, i, OXI_LLM_PAST_UP);
        if (!status) status = oxi_llm_need(model, i, OXI_LLM_PAST_NORM);
        if (!status && p[OXI_LLM_PAST_DOWN].weight->shape[0] != p[OXI_LLM_PAST_UP].weight->shape[1])
            status = oxi_fail(OX_ERR_SHAPE, "llm: tensor blk.%lld.%s.weight is %s", (long long)i,
                              oxi_llm_layer_parts[OXI_LLM_PAST_UP].name,
                              oxi_tensor_text(p[OXI_LLM_PAST_UP].weight));
    }
    for (int role = OXI_LLM_ALTERNATE_ROUTER; model->numbers.alternate > 0 && !status; role++) {
        if (role > OXI_LLM_ALTERNATE_CORRECT) break;
        status = oxi_llm_need(model, i, (oxi_llm_layer_role)role);
    }
    return status;
}

/* A layer that has n-grams: its parts, and the kernel of its convolution as it is multiplied. */
static ox_status oxi_llm_check_grams(const ox_llm *model, oxi_llm_layer *l, int64_t i) {
    const oxi_llm_grams *g = &model->grams;
    oxi_llm_part *p = l->part, *conv = &p[OXI_LLM_GRAM_CONV];
    ox_status status = OX_OK;
    if (!p[OXI_LLM_GRAM_KEY].weight) return OX_OK;
    for (int role = OXI_LLM_GRAM_KEY; role <= OXI_LLM_GRAM_CONV && !status; role++)
        status = oxi_llm_need(model, i, (oxi_llm_layer_role)role);
    if (status) return status;
    const int64_t columns = g->rows > 0 ? g->rows * model->part[OXI_LLM_GRAMS].weight->shape[1] : 0,
                  channels = model->numbers.hyper * model->config.width;
    if (p[OXI_LLM_GRAM_KEY].weight->shape[1] != columns ||
        p[OXI_LLM_GRAM_VALUE].weight->shape[1] != columns || columns == 0 || channels == 0 ||
        ox_numel(conv->weight) != g->taps * channels)
        return oxi_fail(OX_ERR_SHAPE, "llm: the n-grams of layer %lld do not fit: %s of %lld, %s",
                        (long long)i, oxi_tensor_text(p[OXI_LLM_GRAM_KEY].weight), (long long)columns,
                        oxi_tensor_text(conv->weight));
    ox_scope scope = ox_scope_begin();
    ox_tensor *kernel = ox_contiguous(
        ox_transpose(ox_reshape(conv->weight, OX_SHAPE(channels, g->taps)), 0, 1)); /* [taps, channels] */
    if (kernel) {
        ox_release(conv->weight);
        conv->weight = ox_retain(kernel);
    }
    ox_scope_end(&scope);
    return kernel ? OX_OK : oxi_llm_error();
}

/* ---- all weights --------------------------------------------------------------------------------------- */

/* The block of the file that layer `i` is: of its stack, where passes go through two of them. */
static int64_t oxi_llm_block_of(const ox_llm *model, int64_t i) {
    const oxi_llm_numbers *n = &model->numbers;
    if (n->stack == 0) return i;
    return i % n->stack + (i / n->stack % (n->low_passes + 1) == n->low_passes ? n->stack : 0);
}

static ox_status oxi_llm_load_layer(ox_llm *model, ox_file *file, int64_t i) {
    oxi_llm_layer *l = &model->layers[i];
    const int64_t index = oxi_llm_block_of(model, i);
    const char *prefix = oxi_llm_prefix_of(model);
    ox_status status = OX_OK;
    for (int role = 0; !status && role < OXI_LLM_LAYER_ROLES; role++) {
        char stem[80];
        const char *name = oxi_llm_part_name(model, file, index, role);
        if (!name[0]) continue;
        const bool indexer = role >= OXI_LLM_INDEX_QUERY && role <= OXI_LLM_INDEX_BLOCK_NORM;
        if (indexer && !model->numbers.indexed) continue;
        if (role == OXI_LLM_ROUTER_SCALE && !oxi_llm_has_trait(model, OXI_LLM_TRAIT(ROUTER_SCALED))) continue;
        (void)snprintf(stem, sizeof stem, "%sblk.%lld.%s", prefix, (long long)index, name);
        status = oxi_llm_load_part(model, l, file, stem, &oxi_llm_layer_parts[role], &l->part[role]);
    }
    if (!status) status = oxi_llm_drop_biases(model, file, l);
    if (!status) status = oxi_llm_scale_biases(l);
    if (!l->part[OXI_LLM_QUERY_NORM].weight && !model->numbers.latent && /* one alone is not used */
        !oxi_llm_has_trait(model, OXI_LLM_TRAIT(KEY_IS_VALUE)))
        oxi_llm_free_part(&l->part[OXI_LLM_KEY_NORM]);
    if (!status) status = oxi_llm_check_norms(model, l, index);
    if (!status && l->attends) status = oxi_llm_check_attention(model, l, index);
    if (!status && l->part[OXI_LLM_KEY_SCORE].weight) status = oxi_llm_need(model, index, OXI_LLM_KEY_RATE);
    if (!status && l->attends && l->part[OXI_LLM_DIFFERENCE].weight)
        status = oxi_llm_check_difference(l, index);
    if (!status && l->mixer) status = oxi_llm_check_mixer(model, l, index);
    if (!status && l->feeds) status = oxi_llm_check_feed_forward(model, l, index);
    for (int role = OXI_LLM_INPUT_GATE; role <= OXI_LLM_INPUT_NORM && model->numbers.input > 0; role++)
        if (!status) status = oxi_llm_need(model, index, (oxi_llm_layer_role)role);
    if (!status) status = oxi_llm_check_residual(model, l, index);
    if (!status) status = oxi_llm_check_alternate(model, l, index);
    if (!status) status = oxi_llm_check_grams(model, l, index);
    return status ? status : oxi_llm_place_head_matrices(model, l);
}

/* Factors of the frequencies that lie in the file replace none, and multiply those of YaRN. Some families use
 * none, unless the file says that they are used. */
static ox_status oxi_llm_place_factors(ox_llm *model, const ox_file *file) {
    int64_t used = 0;
    const ox_status status = oxi_llm_read_int(model, file, "use_rope_factors", -1, 0, 0, &used);
    if (status) return status;
    ox_tensor *plain = model->part[OXI_LLM_ROPE_FACTORS].weight, *far = model->part[OXI_LLM_ROPE_LONG].weight,
              *near = model->part[OXI_LLM_ROPE_SHORT].weight;
    if (near) plain = near;
    if (!used && oxi_llm_has_trait(model, OXI_LLM_TRAIT(NO_FACTORS))) plain = far = NULL;
    oxi_llm_rope *ropes[2] = {&model->rope, &model->window_rope};
    const int scaled = oxi_llm_has_trait(model, OXI_LLM_TRAIT(WINDOW_UNSCALED)) ? 1 : 2;
    for (int i = 0; i < scaled; i++) {
        oxi_llm_rope *rope = ropes[i];
        if (plain && ox_numel(plain) == rope->size / 2) {
            ox_tensor *all = rope->factors ? ox_mul(rope->factors, plain) : plain;
            if (!all) return oxi_llm_error();
            ox_release(rope->factors);
            rope->factors = ox_retain(all);
        }
        if (far && ox_numel(far) == rope->size / 2) rope->long_factors = ox_retain(far);
        if (!rope->factors || ox_device_of(rope->factors) == model->device) continue;
        ox_tensor *moved = ox_to(rope->factors, model->device);
        if (!moved) return oxi_llm_error();
        ox_release(rope->factors);
        rope->factors = ox_retain(moved);
    }
    return OX_OK;
}

/* ALiBi's slopes, less steep from head to head. source: Press et al. 2022, "ALiBi" */
static ox_status oxi_llm_make_slopes(ox_llm *model) {
    const double most = model->numbers.alibi;
    const int64_t heads = model->config.heads;
    int64_t power = 1;
    if (most <= 0) return OX_OK;
    float *slopes = (float *)oxi_alloc((size_t)heads * sizeof *slopes);
    if (!slopes) return OX_ERR_NOMEM;
    while (2 * power <= heads) power *= 2;
    for (int64_t h = 0; h < heads; h++)
        slopes[h] = (float)(-model->numbers.alibi_scale *
                            exp2(h < power ? -most * (double)(h + 1) / (double)power
                                           : -most * (double)(2 * (h - power) + 1) / (double)(2 * power)));
    ox_scope scope = ox_scope_begin();
    model->slopes = ox_retain(ox_to(oxi_copied(slopes, OX_SHAPE(heads, 1, 1), OX_F32), model->device));
    ox_scope_end(&scope);
    oxi_free(slopes, (size_t)heads * sizeof *slopes);
    return model->slopes ? OX_OK : oxi_llm_error();
}

/* Products by heads are such by experts that all rows take. */
static ox_status oxi_llm_number_heads(ox_llm *model) {
    const oxi_llm_numbers *n = &model->numbers;
    const int64_t others[] = {n->merge_groups, n->mixing.shifts, n->mixing.groups, n->alternate};
    int64_t most = model->config.heads;
    for (int64_t i = 0; i < model->config.layers; i++)
        if (model->layers[i].heads > most) most = model->layers[i].heads;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] > most) most = others[i];
    ox_scope scope = ox_scope_begin();
    ox_tensor *numbers = ox_unsqueeze(oxi_arange(0, (double)most, 1, OX_I32, ox_cpu()), 0);
    model->head_numbers = ox_retain(ox_to(numbers, model->device));
    ox_scope_end(&scope);
    return model->head_numbers ? OX_OK : oxi_llm_error();
}

/* A factor of all that halves of layers add to a row is as good as one, divided by it, of what the row begins
 * with: only norms see the row, to which sizes are nothing but what they add to the mean square, of which f32
 * holds no more than so many. */
static void oxi_llm_begin_with_scale(ox_llm *model) {
    static const oxi_llm_layer_role others[] = {OXI_LLM_EXPERTS_NORM,    OXI_LLM_EXPERTS_PRE_NORM,
                                                OXI_LLM_GRAM_KEY,        OXI_LLM_ATTENTION_RESIDUAL,
                                                OXI_LLM_HIDDEN_RESIDUAL, OXI_LLM_PAST_DOWN,
                                                OXI_LLM_EMBEDDING_SHARE, OXI_LLM_LAYER_SCALE};
    oxi_llm_numbers *n = &model->numbers;
    const oxi_llm_part *own = model->part;
    const double scale = n->residual_scale, begin = n->embedding_scale > 0 ? n->embedding_scale : 1;
    bool can = scale > 1e-6 && scale < 1e6 && scale != 1 && n->block != OXI_LLM_BLOCK_SUM && n->hyper == 0 &&
               n->bank == 0 && n->alternate == 0 && n->stack == 0 && n->input == 0 && n->halved == 0 &&
               n->norm_groups < 2 && n->output_epsilon <= 0 && !model->encoder &&
               own[OXI_LLM_OUTPUT_NORM].weight && !own[OXI_LLM_EMBEDDING_NORM].weight &&
               !own[OXI_LLM_POSITIONS].weight && !own[OXI_LLM_TOKEN_TYPES].weight &&
               !oxi_llm_has_trait(model, OXI_LLM_TRAIT(RESIDUAL_NORMED) | OXI_LLM_TRAIT(EMBEDDING_NORMED) |
                                             OXI_LLM_TRAIT(ROUTER_EARLY) | OXI_LLM_TRAIT(BARE_NORMS));
    for (int64_t i = 0; can && i < model->config.layers; i++) {
        const oxi_llm_layer *l = &model->layers[i];
        can = (!(l->attends || l->mixer) || l->part[OXI_LLM_ATTENTION_NORM].weight) &&
              (!l->feeds || n->block == OXI_LLM_BLOCK_PARALLEL || l->part[OXI_LLM_HIDDEN_NORM].weight);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) can = can && !l->part[others[k]].weight;
    }
    n->row_epsilon = n->epsilon;
    if (!can) return;
    n->embedding_scale = begin / scale;
    n->row_epsilon = n->epsilon / (scale * scale);
    n->residual_scale = 0;
}

/* Shares of all experts that are divided by the sum of the chosen ones are the softmax of these: fewer
 * passes, where each is a call of its own. */
static void oxi_llm_choose_router(ox_llm *model) {
    oxi_llm_numbers *n = &model->numbers;
    bool same = n->router == OXI_LLM_ROUTER_SOFTMAX && n->routed_norm && n->expert_groups < 2 &&
                n->jitter == 0 && model->device == ox_cpu();
    for (int64_t i = 0; same && i < model->config.layers; i++) {
        const oxi_llm_part *p = model->layers[i].part, *choice = &p[OXI_LLM_ROUTER_CHOICE];
        same = !choice->weight && !choice->bias && !p[OXI_LLM_CHUNKS_DOWN].weight &&
               !p[OXI_LLM_VALUE_ROUTER].weight;
    }
    if (same) n->router = OXI_LLM_ROUTER_LATE;
}

static ox_status oxi_llm_dense_single(oxi_llm_part *part) {
    if (!part->weight || part->weight->dtype != OX_F64) return OX_OK;
    ox_tensor *single = ox_retain(ox_cast(part->weight, OX_F32));
    if (!single) return oxi_llm_error();
    ox_release(part->weight);
    part->weight = single;
    return OX_OK;
}

/* Products behind the model: of the pooled row, or of each token's where the file does not pool, as llama.cpp
 * has it. Torch reads F64 for them too, and computes in F32. */
static ox_status oxi_llm_load_dense(ox_llm *model, const ox_file *file) {
    ox_llm_config *c = &model->config;
    char key[32];
    ox_status status = oxi_llm_check_dense(file, c->architecture, c->width, &c->embedding);
    c->late = model->part[OXI_LLM_DENSE].weight && model->numbers.pooling == OX_LLM_POOLING_MODEL;
    for (int i = 0; i < OXI_LLM_DENSE_MOST && model->part[OXI_LLM_DENSE + i].weight && !status; i++) {
        status = oxi_llm_dense_single(&model->part[OXI_LLM_DENSE + i]);
        if (!status) status = oxi_llm_dense_single(&model->part[OXI_LLM_DENSE_RESIDUAL + i]);
        if (status) break;
        model->numbers.dense_added[i] = oxi_llm_dense_adds(file, c->architecture, i + 2);
        (void)snprintf(key, sizeof key, "dense_%d_activation", i + 2);
        status = oxi_llm_read_activation(model, file, key, &model->numbers.dense[i]);
    }
    return status;
}

static ox_status oxi_llm_load_weights(ox_llm *model, ox_file *file) {
    ox_status status = OX_OK;
    for (int role = 0; !status && role < OXI_LLM_MODEL_ROLES; role++) {
        const oxi_llm_part_row *row = &oxi_llm_model_parts[role];
        char stem[80];
        if (role == OXI_LLM_OUTPUT && oxi_llm_has_trait(model, OXI_LLM_TRAIT(ENCODER))) continue;
        (void)snprintf(stem, sizeof stem, "%s%s.weight", oxi_llm_prefix_of(model), row->name);
        const bool own = ox_file_has(file, stem);
        (void)snprintf(stem, sizeof stem, "%s%s", own ? oxi_llm_prefix_of(model) : "", row->name);
        status = oxi_llm_load_part(model, &model->layers[0], file, stem, row, &model->part[role]);
        if (!status && role == OXI_LLM_EMBEDDING) {
            const ox_tensor *embedding = model->part[role].weight;
            if (!embedding) return oxi_fail(OX_ERR_NOT_FOUND, "llm: tensor %s.weight is missing", row->name);
            model->config.vocabulary = embedding->shape[0];
        }
    }
    if (status) return status;
    if (!model->part[OXI_LLM_OUTPUT_NORM].weight &&
        oxi_llm_has_trait(model, OXI_LLM_TRAIT(LATE_EMBEDDING_NORM))) {
        const oxi_llm_part none = {NULL, NULL, 1, NULL, NULL};
        model->part[OXI_LLM_OUTPUT_NORM] = model->part[OXI_LLM_EMBEDDING_NORM];
        model->part[OXI_LLM_EMBEDDING_NORM] = none;
    }
    if (model->numbers.stack > 0 && !model->part[OXI_LLM_LOW_START].weight)
        return oxi_fail(OX_ERR_NOT_FOUND, "llm: tensor hrm.z_l_init is missing");
    if (!model->part[OXI_LLM_OUTPUT_NORM].weight && model->numbers.block != OXI_LLM_BLOCK_SUM &&
        !oxi_llm_has_trait(model, OXI_LLM_TRAIT(BARE_NORMS)) && model->numbers.hyper_rank == 0)
        return oxi_fail(OX_ERR_NOT_FOUND, "llm: tensor %soutput_norm.weight is missing",
                        oxi_llm_prefix_of(model));
    oxi_llm_part *output = &model->part[OXI_LLM_OUTPUT];
    model->config.tied = !output->weight;
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(NO_OUTPUT_BIAS))) {
        ox_release(output->bias);
        output->bias = NULL;
    }
    if (model->config.tied) output->weight = ox_retain(model->part[OXI_LLM_EMBEDDING].weight);
    model->device = oxi_working_device(ox_device_of(model->part[OXI_LLM_EMBEDDING].weight));
    ox_scope scope = ox_scope_begin();
    status = oxi_llm_place_factors(model, file);
    if (!status) status = oxi_llm_check_last_rows(model);
    if (!status) status = oxi_llm_check_gram_table(model);
    if (!status) status = oxi_llm_check_inputs(model);
    if (!status) status = oxi_llm_load_dense(model, file);
    ox_scope_end(&scope);
    for (int64_t i = 0; !status && i < model->config.layers; i++) status = oxi_llm_load_layer(model, file, i);
    if (!status) oxi_llm_choose_router(model);
    if (!status) oxi_llm_begin_with_scale(model);
    if (!status) status = oxi_llm_number_heads(model);
    return status ? status : oxi_llm_make_slopes(model);
}

/* Rows are repacked sixteen at a time: what a matrix has beyond them is taken off it, so that the others can
 * be. Of parts whose product is oxi_llm_product. */
static ox_status oxi_llm_part_rows(const ox_llm *model, oxi_llm_part *part) {
    ox_tensor *weight = part->weight;
    const int64_t rows = weight ? weight->shape[0] : 0, more = rows % OXI_REPACKED_ROWS;
    if (rows <= more || more == 0 || weight->ndim != 2 || !oxi_is_block(weight->dtype)) return OX_OK;
    if (model->device != ox_cpu() || part->scale != 1) return OX_OK;
    ox_scope scope = ox_scope_begin();
    ox_tensor *first = ox_narrow(weight, 0, 0, rows - more),
              *rest = ox_clone(ox_narrow(weight, 0, rows - more, more));
    if (first && rest) {
        part->weight = ox_retain(first);
        part->rest = ox_retain(rest);
        ox_release(weight);
    }
    ox_scope_end(&scope);
    return part->rest ? OX_OK : oxi_llm_error();
}

/* Matrices of block types in a file that was read into memory are kept as products want them. Mapped ones
 * stay in the file. */
static ox_status oxi_llm_prepack(ox_llm *model, const ox_file *file) {
    oxi_llm_part *output = &model->part[OXI_LLM_OUTPUT];
    ox_status status = OX_OK;
    if (!file->copies) return OX_OK;
    if (output->weight != model->part[OXI_LLM_EMBEDDING].weight) status = oxi_llm_part_rows(model, output);
    for (int64_t i = 0; i < model->config.layers && !status; i++)
        status = oxi_llm_part_rows(model, &model->layers[i].part[OXI_LLM_MIXER_IN]);
    if (!status && oxi_is_block(output->weight->dtype)) status = ox_prepack(output->weight);
    for (int64_t i = 0; i < model->config.layers; i++)
        for (int role = 0; role < OXI_LLM_LAYER_ROLES && !status; role++) {
            ox_tensor *t = model->layers[i].part[role].weight;
            if (t && oxi_is_block(t->dtype)) status = ox_prepack(t);
        }
    return status;
}

static void oxi_llm_free_weights(ox_llm *model) {
    for (int role = 0; role < OXI_LLM_MODEL_ROLES; role++) oxi_llm_free_part(&model->part[role]);
    for (int64_t i = 0; model->layers && i < model->config.layers; i++)
        for (int role = 0; role < OXI_LLM_LAYER_ROLES; role++)
            oxi_llm_free_part(&model->layers[i].part[role]);
    ox_release(model->slopes);
    ox_release(model->head_numbers);
    ox_release(model->by_head[0].memory);
    ox_release(model->by_head[1].memory);
    ox_release(model->rope.factors);
    ox_release(model->rope.long_factors);
    ox_release(model->window_rope.factors);
    ox_release(model->window_rope.long_factors);
    oxi_free(model->layers, model->layers ? (size_t)model->config.layers * sizeof *model->layers : 0);
}
