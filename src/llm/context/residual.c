/* The residual rows of a position where there is more than one: hyper-connections, and rows of earlier layers
 * that later ones attend to. Each half of a layer reads a mixture of them. Called by forward.c.
 * source: Zhu et al. 2024, "Hyper-Connections"; Xie et al. 2025, "mHC"; llama.cpp src/models/kimi-k3.cpp */

/* What a half's result becomes in each residual row. */
typedef struct oxi_llm_shares {
    ox_tensor *taken; /* [S, hyper, 1]: of the result */
    ox_tensor *mixed; /* [S, from, to]: of the rows, or NULL: each stays */
} oxi_llm_shares;

enum { OXI_LLM_HALVES = 2 }; /* attention, or what stands for it; the feed-forward */

/* The parts of a half, from ATTENTION_MIX or HIDDEN_MIX on, as parts.def has them. */
enum {
    OXI_LLM_MIX = 0,
    OXI_LLM_MIX_BASE,
    OXI_LLM_MIX_SCALE,
    OXI_LLM_MIX_NORM,
    OXI_LLM_MIX_DOWN,
    OXI_LLM_MIX_UP,
    OXI_LLM_MIX_SHARES
};

/* ---- numbers for each row ------------------------------------------------------------------------------ */

/* What Sinkhorn's rounds make of [S, from, to]: rows and columns that sum to one. */
static ox_tensor *oxi_llm_balanced(const oxi_llm_numbers *n, ox_tensor *x) {
    x = ox_add_number_(ox_softmax(x, -1), n->hyper_epsilon);
    for (int64_t i = 0; x && i < 2 * n->hyper_rounds - 1; i++) {
        ox_tensor *sums = ox_sum(x, OX_DIMS(i % 2 == 0 ? 1 : 2), true);
        x = ox_div_(x, ox_add_number_(sums, n->hyper_epsilon));
    }
    return x;
}

/* Numbers [S, mixes] that all residual rows x [S, hyper, width] make together. */
static ox_tensor *oxi_llm_mixes(const ox_llm *model, const oxi_llm_part *mix, const oxi_llm_part *base,
                                const oxi_llm_part *scale, ox_tensor *x) {
    x = oxi_llm_product(mix, ox_rms_norm(ox_flatten(x, 1, 2), 1, NULL, model->numbers.epsilon));
    return ox_add_(ox_mul_(x, scale->weight), base->weight);
}

static ox_tensor *oxi_llm_read_numbered(const ox_llm *model, const oxi_llm_part *p, ox_tensor *x,
                                        oxi_llm_shares *shares) {
    const oxi_llm_numbers *n = &model->numbers;
    const int64_t rows = n->hyper;
    ox_tensor *all = oxi_llm_mixes(model, &p[OXI_LLM_MIX], &p[OXI_LLM_MIX_BASE], &p[OXI_LLM_MIX_SCALE], x);
    ox_tensor *read = ox_add_number_(ox_sigmoid(ox_narrow(all, 1, 0, rows)), n->hyper_epsilon);
    ox_tensor *taken = ox_mul_number_(ox_sigmoid(ox_narrow(all, 1, rows, rows)), n->hyper_magnitude);
    if (n->hyper_rounds == 0) taken = ox_add_number_(taken, n->hyper_epsilon);
    shares->taken = ox_unsqueeze(taken, 2);
    if (n->hyper_rounds > 0)
        shares->mixed = oxi_llm_balanced(
            n, ox_unflatten(ox_narrow(all, 1, 2 * rows, rows * rows), 1, OX_SHAPE(rows, rows)));
    if (!shares->taken || (n->hyper_rounds > 0 && !shares->mixed)) return NULL;
    return oxi_llm_sum_rows(read, x);
}

/* ---- a gate for each number ---------------------------------------------------------------------------- */

/* The mean of rows [S, hyper, width], each with its norm, by gates of few numbers; *normal: all of them with
 * their norms, [S, hyper * width]. */
static ox_tensor *oxi_llm_read_gated(const ox_llm *model, const oxi_llm_part *norm, const oxi_llm_part *down,
                                     const oxi_llm_part *up, ox_tensor *x, ox_tensor **normal) {
    const int64_t rows = model->numbers.hyper;
    x = ox_mul_(ox_flatten(oxi_llm_normalize(model, NULL, x), 1, 2), norm->weight);
    ox_tensor *gate = ox_silu_(ox_mul_number_(oxi_llm_product(down, x), 1 / (double)rows));
    gate = ox_mul_(ox_sigmoid_(oxi_llm_product(up, gate)), x);
    *normal = x;
    return ox_mean(ox_unflatten(gate, 1, OX_SHAPE(rows, model->config.width)), OX_DIMS(1), false);
}

/* ---- rows of earlier layers ---------------------------------------------------------------------------- */

/* How many rows are kept when layer `index`'s half begins. */
static int64_t oxi_llm_kept_count(const oxi_llm_numbers *n, int64_t index, int half) {
    return half == 0 ? (index + n->bank - 1) / n->bank : index / n->bank + 1;
}

/* x [S, width] and `count` rows that are kept, by attention whose query is a part of the model. */
static ox_tensor *oxi_llm_attend_kept(const oxi_llm_batch *batch, const oxi_llm_part *score, int64_t count,
                                      ox_tensor *x) {
    if (count == 0) return x;
    ox_tensor *list[2], *all, *scores;
    list[0] = ox_narrow(batch->kept, 1, 0, count);
    list[1] = ox_unsqueeze(x, 1);
    if (!list[0] || !list[1] || !(all = ox_cat(list, 2, 1))) return NULL;
    scores = ox_sum(oxi_llm_normalize(batch->context->model, score, all), OX_DIMS(2), false);
    return oxi_llm_sum_rows(ox_softmax(scores, -1), all);
}

/* ---- what layers do with them -------------------------------------------------------------------------- */

/* What a half of a layer reads of x: [S, width]. */
static ox_tensor *oxi_llm_read_rows(const oxi_llm_batch *batch, int64_t index, int half, ox_tensor *x,
                                    oxi_llm_shares *shares) {
    static const oxi_llm_layer_role first[OXI_LLM_HALVES] = {OXI_LLM_ATTENTION_MIX, OXI_LLM_HIDDEN_MIX},
                                    score[OXI_LLM_HALVES] = {OXI_LLM_ATTENTION_KEPT_SCORE,
                                                             OXI_LLM_HIDDEN_KEPT_SCORE};
    const ox_llm *model = batch->context->model;
    const oxi_llm_numbers *n = &model->numbers;
    const oxi_llm_part *p = &model->layers[index].part[first[half]];
    shares->taken = shares->mixed = NULL;
    if (n->bank > 0)
        return oxi_llm_attend_kept(batch, &model->layers[index].part[score[half]],
                                   oxi_llm_kept_count(n, index, half), x);
    if (n->hyper == 0) return x;
    if (n->hyper_rank == 0) return oxi_llm_read_numbered(model, p, x, shares);
    ox_tensor *normal = NULL, *out = oxi_llm_read_gated(model, &p[OXI_LLM_MIX_NORM], &p[OXI_LLM_MIX_DOWN],
                                                        &p[OXI_LLM_MIX_UP], x, &normal);
    ox_tensor *taken = ox_mul_number_(oxi_llm_product(&p[OXI_LLM_MIX_SHARES], normal), 1 / (double)n->hyper);
    shares->taken = ox_unsqueeze(ox_mul_number_(ox_sigmoid_(taken), 2), 2);
    return shares->taken ? out : NULL;
}

/* Rows x [S, hyper, width] with a half's result [S, width]. */
static ox_tensor *oxi_llm_add_rows(const oxi_llm_shares *shares, ox_tensor *x, ox_tensor *out) {
    if (shares->mixed) x = ox_matmul(ox_transpose(shares->mixed, 1, 2), x);
    return ox_addcmul_(x, shares->taken, ox_unsqueeze(out, 1), 1);
}

/* What the model begins with, of embeddings [S, width]. */
static ox_tensor *oxi_llm_spread_rows(const ox_llm *model, ox_tensor *x) {
    const int64_t rows = model->numbers.hyper;
    if (rows == 0 || !x) return x;
    return ox_contiguous(ox_expand(ox_unsqueeze(x, 1), OX_SHAPE(x->shape[0], rows, x->shape[1])));
}

/* The last `count` positions of what the layers made: [count, width]. */
static ox_tensor *oxi_llm_last_rows(const oxi_llm_batch *batch, int64_t count, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_numbers *n = &model->numbers;
    const oxi_llm_part *p = model->part;
    ox_tensor *normal = NULL;
    if (!x) return NULL;
    const int64_t first = x->shape[0] - count;
    x = ox_narrow(x, 0, first, count);
    if (n->bank > 0) {
        oxi_llm_batch last = *batch;
        last.kept = ox_narrow(batch->kept, 0, first, count);
        return oxi_llm_attend_kept(&last, &p[OXI_LLM_KEPT_SCORE],
                                   oxi_llm_kept_count(n, model->config.layers - 1, 1), x);
    }
    if (n->hyper == 0) return x;
    if (n->hyper_rank > 0)
        return oxi_llm_read_gated(model, &p[OXI_LLM_HYPER_NORM], &p[OXI_LLM_HYPER_DOWN], &p[OXI_LLM_HYPER_UP],
                                  x, &normal);
    if (!p[OXI_LLM_HYPER_MIX].weight) return ox_mean(x, OX_DIMS(1), false);
    ox_tensor *read =
        oxi_llm_mixes(model, &p[OXI_LLM_HYPER_MIX], &p[OXI_LLM_HYPER_BASE], &p[OXI_LLM_HYPER_SCALE], x);
    return oxi_llm_sum_rows(ox_add_number_(ox_sigmoid_(read), n->hyper_epsilon), x);
}
