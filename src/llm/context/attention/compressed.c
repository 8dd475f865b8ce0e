/* Attention to a window of keys, and to what blocks of the positions before become: each few positions
 * leave one row, a sum of what they make, weighted number by number. Keys are values; a head's end is
 * turned, and what attention gives is turned back. Called by attention.c. source: llama.cpp
 * src/models/deepseek4.cpp */

/* The end of x [.., S, size] turned by the batch's positions. */
static ox_tensor *oxi_llm_turn_end(const oxi_llm_batch *batch, const oxi_llm_rope *rope, ox_tensor *x) {
    if (!x || !rope) return x;
    const int64_t plain = x->shape[x->ndim - 1] - rope->size;
    ox_tensor *list[2];
    list[0] = ox_narrow(x, -1, 0, plain);
    list[1] = oxi_llm_turn(batch, rope, ox_narrow(x, -1, plain, rope->size));
    if (!list[0] || !list[1]) return NULL;
    return plain > 0 ? ox_cat(list, 2, x->ndim - 1) : list[1];
}

/* ---- rows of blocks ------------------------------------------------------------------------------------ */

/* The rows that blocks leave are keys of attention, and of an indexer where it has one. */
static int oxi_llm_block_kinds(const oxi_llm_layer *l) {
    return l->part[OXI_LLM_INDEX_BLOCK_VALUE].weight ? 2 : 1;
}
static const oxi_llm_layer_role oxi_llm_block_roles[2] = {OXI_LLM_BLOCK_VALUE, OXI_LLM_INDEX_BLOCK_VALUE};

/* What positions make: [S, values | scores], a score for each value, and behind them an indexer's. */
static ox_tensor *oxi_llm_block_parts(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor *x) {
    const double end = (double)(batch->start + batch->count);
    const int kinds = oxi_llm_block_kinds(l);
    ox_tensor *places = oxi_arange((double)batch->start, end, 1, OX_I32, ox_cpu()), *list[4];
    places = ox_cast(ox_remainder(places, ox_integer(l->ratio)), OX_I32);
    places = ox_to(places, batch->context->model->device);
    for (int i = 0; i < kinds; i++) {
        const oxi_llm_part *p = &l->part[oxi_llm_block_roles[i]]; /* value, score, place, norm */
        list[2 * i] = oxi_llm_product(&p[0], x);
        list[2 * i + 1] = oxi_llm_product(&p[1], x);
        list[2 * i + 1] = ox_add_(list[2 * i + 1], ox_cast(ox_embedding(places, p[2].weight), OX_F32));
        if (!list[2 * i] || !list[2 * i + 1]) return NULL;
    }
    return ox_cat(list, 2 * kinds, 1);
}

/* Zeros whose scores are -infinity: of the block before the first one. */
static ox_tensor *oxi_llm_no_block(const ox_llm *model, const oxi_llm_layer *l) {
    int64_t columns[2], shape[2] = {l->ratio, 0}, at = 0;
    for (int i = 0; i < oxi_llm_block_kinds(l); i++) {
        columns[i] = l->part[oxi_llm_block_roles[i]].weight->shape[0];
        shape[1] += 2 * columns[i];
    }
    ox_tensor *none = oxi_tensor_new(model->device, OX_F32, 2, shape);
    if (!none || !ox_zero_(none)) return NULL;
    for (int i = 0; i < oxi_llm_block_kinds(l); at += 2 * columns[i++])
        if (!ox_fill_(ox_narrow(none, 1, at + columns[i], columns[i]), -INFINITY)) return NULL;
    return none;
}

/* Rows of `count` blocks, of what their positions and those of the block before made,
 * [(count + 1) * ratio, values | scores] -> [count, size]. Blocks that overlap have two values a number: one
 * for the row of the next block, one for their own. */
static ox_tensor *oxi_llm_sum_blocks(const oxi_llm_layer *l, int64_t count, ox_tensor *parts) {
    const int64_t columns = parts->shape[1] / 2, size = l->overlaps ? columns / 2 : columns;
    ox_tensor *all = ox_unflatten(parts, 0, OX_SHAPE(count + 1, l->ratio));
    ox_tensor *before = ox_narrow(all, 0, 0, count), *own = ox_narrow(all, 0, 1, count);
    ox_tensor *values = ox_narrow(own, 2, columns - size, size),
              *scores = ox_narrow(own, 2, 2 * columns - size, size);
    if (columns > size) {
        ox_tensor *list[2] = {ox_narrow(before, 2, 0, size), values};
        if (!list[0] || !list[1] || !(values = ox_cat(list, 2, 1))) return NULL;
        list[0] = ox_narrow(before, 2, columns, size);
        list[1] = scores;
        if (!list[0] || !list[1] || !(scores = ox_cat(list, 2, 1))) return NULL;
    }
    return ox_sum(ox_mul_(ox_softmax(scores, 1), values), OX_DIMS(1), false);
}

/* Those rows with their norms, turned by their first positions: [count, size], an indexer's behind the
 * keys. */
static ox_tensor *oxi_llm_block_rows(const oxi_llm_batch *blocks, const oxi_llm_layer *l, ox_tensor *parts) {
    const ox_llm *model = blocks->context->model;
    const int kinds = oxi_llm_block_kinds(l);
    ox_tensor *rows[2];
    int64_t at = 0;
    for (int i = 0; i < kinds; i++) {
        const oxi_llm_part *p = &l->part[oxi_llm_block_roles[i]];
        const int64_t columns = 2 * p[0].weight->shape[0];
        rows[i] = oxi_llm_sum_blocks(l, blocks->count, ox_narrow(parts, 1, at, columns));
        rows[i] = oxi_llm_turn_end(blocks, l->rope, oxi_llm_normalize(model, &p[3], rows[i]));
        if (!rows[i]) return NULL;
        at += columns;
    }
    return kinds > 1 ? ox_cat(rows, kinds, 1) : rows[0];
}

/* Writes the rows of blocks that end in this batch; false on error. What positions of the last two blocks
 * made is the layer's state. */
static bool oxi_llm_keep_blocks(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const ox_llm *model = context->model;
    const oxi_llm_layer *l = &model->layers[index];
    const int64_t ratio = l->ratio, first = batch->start / ratio, end = batch->start + batch->count,
                  count = end / ratio - first;
    ox_tensor *list[2] = {context->written[index].window, oxi_llm_block_parts(batch, l, x)};
    if (!list[0]) list[0] = context->states[index].window;
    if (!list[0]) list[0] = oxi_llm_no_block(model, l);
    ox_tensor *all = list[0] && list[1] ? ox_cat(list, 2, 0) : NULL; /* from the block before `first` on */
    if (!all) return false;
    if (count > 0) {
        oxi_llm_batch blocks = *batch;
        blocks.count = count;
        blocks.positions = ox_to(oxi_arange((double)(first * ratio), (double)(end / ratio * ratio),
                                            (double)ratio, OX_I32, ox_cpu()),
                                 model->device);
        if (!blocks.positions) return false;
        ox_tensor *rows = oxi_llm_block_rows(&blocks, l, ox_narrow(all, 0, 0, (count + 1) * ratio));
        if (!rows || !ox_copy_(ox_narrow(context->values[index], 1, first, count), ox_unsqueeze(rows, 0)))
            return false;
    }
    const int64_t left = ratio + end % ratio;
    return oxi_llm_write_state(&context->written[index].window,
                               ox_clone(ox_narrow(all, 0, all->shape[0] - left, left)));
}

/* ---- attention ----------------------------------------------------------------------------------------- */

/* Which keys first .. of the cache, and which rows of blocks, a batch's positions see:
 * bool [count, keys + rows]. */
static ox_tensor *oxi_llm_block_mask(const oxi_llm_batch *batch, const oxi_llm_layer *l, int64_t first,
                                     int64_t rows) {
    const int64_t end = batch->start + batch->count, keys = end - first;
    size_t bytes = 0;
    if (!oxi_mul_size((size_t)batch->count, (size_t)(keys + rows), &bytes)) return NULL;
    uint8_t *seen = (uint8_t *)oxi_alloc(bytes), *at = seen;
    if (!seen) return NULL;
    for (int64_t s = batch->start; s < end; s++) {
        for (int64_t t = first; t < end; t++) *at++ = t <= s && (l->window == 0 || s - t < l->window);
        for (int64_t row = 0; row < rows; row++) *at++ = row < (s + 1) / l->ratio;
    }
    ox_tensor *mask =
        ox_to(oxi_copied(seen, OX_SHAPE(batch->count, keys + rows), OX_BOOL), batch->context->model->device);
    oxi_free(seen, bytes);
    return mask;
}

/* That mask with the best rows of blocks alone. `few`: what queries are made of. */
static ox_tensor *oxi_llm_choose_rows(const oxi_llm_batch *batch, int64_t index, ox_tensor *few, ox_tensor *x,
                                      ox_tensor *rows, ox_tensor *mask) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_layer *l = &model->layers[index];
    const int64_t count = rows->shape[1], keys = mask ? mask->shape[1] - count : 0;
    ox_tensor *weights = NULL, *list[2];
    ox_tensor *q = ox_transpose(oxi_llm_index_queries(model, l, few, x, &weights), 0, 1);
    q = oxi_llm_turn_end(batch, l->rope, q);
    rows = ox_narrow(ox_select(rows, 0, 0), 1, l->key_size, model->numbers.index_size);
    list[0] = ox_narrow(mask, 1, 0, keys);
    list[1] = oxi_llm_best_keys(oxi_llm_index_scores(q, rows, weights), ox_narrow(mask, 1, keys, count),
                                model->numbers.best);
    return list[0] && list[1] ? ox_cat(list, 2, 1) : NULL;
}

/* q [heads, S, size] by the keys of a window, and the rows of blocks -> [heads, S, size] */
static ox_tensor *oxi_llm_attend_blocks(const oxi_llm_batch *batch, int64_t index, ox_tensor *q,
                                        ox_tensor *few, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const oxi_llm_layer *l = &context->model->layers[index];
    const int64_t end = batch->start + batch->count, rows = end / l->ratio,
                  first = l->window > 0 && batch->start >= l->window ? batch->start - l->window + 1 : 0;
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.scale = context->model->numbers.attention_scale;
    desc.sinks = l->part[OXI_LLM_SINKS].weight;
    if (!oxi_llm_keep_blocks(batch, index, x)) return NULL;
    ox_tensor *keys = ox_narrow(context->keys[index], 1, first, end - first), *list[2] = {keys, NULL};
    desc.mask = oxi_llm_block_mask(batch, l, first, rows);
    if (rows > 0) {
        ox_tensor *kept = ox_narrow(context->values[index], 1, 0, rows);
        if (oxi_llm_is_sparse(context->model, l, rows))
            desc.mask = oxi_llm_choose_rows(batch, index, few, x, kept, desc.mask);
        list[1] = ox_narrow(kept, 2, 0, l->key_size);
        keys = list[0] && list[1] ? ox_cat(list, 2, 1) : NULL;
    }
    return desc.mask && keys ? ox_scaled_dot_product_attention(q, keys, keys, &desc) : NULL;
}

/* x [S, width] -> [heads, S, size] */
static ox_tensor *oxi_llm_attend_one_key(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const ox_llm *model = context->model;
    const oxi_llm_layer *l = &model->layers[index];
    const oxi_llm_part *p = l->part;
    const oxi_llm_part *first = &p[p[OXI_LLM_QUERY].weight ? OXI_LLM_QUERY : OXI_LLM_QUERY_DOWN];
    oxi_llm_batch back = *batch;
    ox_tensor *few, *q = oxi_llm_finish_queries(model, l, oxi_llm_product(first, x), &few);
    q = oxi_llm_split(q, l->heads, l->key_size);
    q = oxi_llm_turn_end(batch, l->rope, ox_transpose(oxi_llm_normalize(model, NULL, q), 0, 1));
    ox_tensor *k = oxi_llm_normalize(model, &p[OXI_LLM_KEY_NORM], oxi_llm_product(&p[OXI_LLM_KEY], x));
    k = ox_unsqueeze(oxi_llm_turn_end(batch, l->rope, k), 0);
    k = oxi_llm_remember(batch, l, context->keys[index], k);
    back.positions = ox_neg(batch->positions);
    if (!q || !k || !back.positions) return NULL;
    ox_tensor *out =
        l->ratio > 0 ? oxi_llm_attend_blocks(batch, index, q, few, x) : oxi_llm_attend(batch, l, q, k, k);
    return oxi_llm_turn_end(&back, l->rope, out);
}

/* [S, heads * size] by a matrix for each group of heads -> [S, groups * rank] */
static ox_tensor *oxi_llm_merge_groups(const ox_llm *model, const oxi_llm_layer *l, ox_tensor *x) {
    const int64_t groups = model->numbers.merge_groups;
    if (!x) return NULL;
    x = ox_transpose(ox_unflatten(x, 1, OX_SHAPE(groups, x->shape[1] / groups)), 0, 1);
    return oxi_llm_join_heads(oxi_llm_product_by_head(model, x, l->part[OXI_LLM_MERGE_DOWN].weight));
}
