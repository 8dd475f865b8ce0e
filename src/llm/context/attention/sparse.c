/* Attention to the best keys alone: a small attention of its own scores all keys that a position sees, and
 * those of the highest scores are attended to. Called by attention.c and compressed.c.
 * source: DeepSeek-V3.2-Exp, 2025, "lightning indexer"; transformers modeling_deepseek_v32.py */

enum { OXI_LLM_INDEX_NUMBERS = 1 << 22 }; /* that the heads' scores of some rows are at a time */

/* What heads find in keys, never below 0, weighted and added up; factors that all scores have are left out,
 * for only their order counts. q [heads, S, size], keys [T, size], weights [S, heads] -> f32 [S, T] */
static ox_tensor *oxi_llm_index_scores(ox_tensor *q, ox_tensor *keys, ox_tensor *weights) {
    if (!q || !keys || !weights) return NULL;
    const int64_t heads = q->shape[0], rows = q->shape[1], count = keys->shape[0],
                  fit = OXI_LLM_INDEX_NUMBERS / (heads * count), each = fit > 1 ? fit : 1;
    const int64_t shape[2] = {rows, count};
    ox_tensor *out = oxi_tensor_new(ox_device_of(q), OX_F32, 2, shape);
    for (int64_t first = 0; out && first < rows; first += each) {
        const int64_t some = rows - first < each ? rows - first : each;
        ox_scope scope = ox_scope_begin();
        ox_tensor *found = ox_relu_(ox_linear(ox_narrow(q, 1, first, some), keys, NULL));
        found = ox_mul_(found, ox_unsqueeze(ox_t(ox_narrow(weights, 0, first, some)), 2));
        if (!ox_copy_(ox_narrow(out, 0, first, some), ox_sum(found, OX_DIMS(0), false))) out = NULL;
        ox_scope_end(&scope);
    }
    return out;
}

/* The `best` keys of those that are seen: bool [S, T] of scores [S, T] and bool [S, T]. */
static ox_tensor *oxi_llm_best_keys(ox_tensor *scores, ox_tensor *seen, int64_t best) {
    if (!scores || !seen) return NULL;
    if (scores->shape[1] <= best) return seen;
    ox_tensor *at = ox_topk(ox_where(seen, scores, ox_number(-INFINITY)), best, 1, true).indices;
    ox_tensor *none = at ? ox_full_like(scores, 0) : NULL, *ones = ox_full_like(scores, 1);
    none = ox_scatter(none, 1, at, ox_narrow(ones, 1, 0, best));
    return ox_logical_and(ox_gt(none, ox_number(0)), seen); /* of a row that sees fewer */
}

/* Whether positions with `count` keys attend to the best of them alone. */
static bool oxi_llm_is_sparse(const ox_llm *model, const oxi_llm_layer *l, int64_t count) {
    return l->part[OXI_LLM_INDEX_QUERY].weight && count > model->numbers.best;
}

/* The indexer's queries and their weights; `row`: what queries are made of, with its norm.
 * -> [S, heads, size], not turned; *weights [S, heads] */
static ox_tensor *oxi_llm_index_queries(const ox_llm *model, const oxi_llm_layer *l, ox_tensor *row,
                                        ox_tensor *x, ox_tensor **weights) {
    const oxi_llm_part *p = l->part;
    oxi_llm_wanted list[2];
    list[0] = oxi_llm_want(&p[OXI_LLM_INDEX_QUERY], row);
    list[1] = oxi_llm_want(&p[OXI_LLM_INDEX_WEIGHTS], x);
    if (!oxi_llm_products(list, 2)) return NULL;
    *weights = list[1].out;
    return oxi_llm_split(list[0].out, model->numbers.index_heads, model->numbers.index_size);
}

/* The start of heads [heads, S, size] turned, halves of it whatever the other heads do. */
static ox_tensor *oxi_llm_turn_index(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor *heads) {
    return oxi_llm_turn_as(batch, l->rope, heads, false);
}

/* Keeps the keys that an indexer makes of a batch, and tells which keys its positions attend to: bool
 * [S, start + S] in batch->chosen, where that is asked for; false on error. A layer without an indexer has
 * what the one before it chose. `row`: what queries are made of. */
static bool oxi_llm_choose_keys(const oxi_llm_batch *batch, int64_t index, ox_tensor *row, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const ox_llm *model = context->model;
    const oxi_llm_layer *l = &model->layers[index];
    const oxi_llm_part *p = l->part;
    const int64_t end = batch->start + batch->count;
    ox_tensor *weights = NULL;
    if (!p[OXI_LLM_INDEX_QUERY].weight) return true;
    const oxi_llm_part *norm = &p[OXI_LLM_INDEX_KEY_NORM];
    ox_tensor *keys = oxi_llm_product(&p[OXI_LLM_INDEX_KEY], x);
    keys = ox_layer_norm(keys, 1, norm->weight, norm->bias, 1e-6);
    keys = oxi_llm_turn_index(batch, l, ox_unsqueeze(keys, 0));
    keys = oxi_llm_remember(batch, l, context->values[index], keys);
    if (!keys || !batch->chosen) return keys != NULL;
    ox_tensor *q = ox_transpose(oxi_llm_index_queries(model, l, row, x, &weights), 0, 1);
    q = oxi_llm_turn_index(batch, l, q);
    ox_tensor *places = oxi_arange(0, (double)end, 1, OX_I32, model->device);
    ox_tensor *seen = ox_le(ox_unsqueeze(places, 0), ox_unsqueeze(batch->positions, 1));
    ox_tensor *scores = oxi_llm_index_scores(q, ox_select(keys, 0, 0), weights);
    return ox_copy_(batch->chosen, oxi_llm_best_keys(scores, seen, model->numbers.best)) != NULL;
}
