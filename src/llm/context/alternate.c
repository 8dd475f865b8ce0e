/* Residual rows of which a layer computes the first alone: the others are guessed from all of them, and
 * corrected by how far the guess of the first was off. Called by forward.c.
 * source: Baykal et al. 2023, "Alternating Updates"; transformers, Gemma 3n */

/* Numbers of each row [S, rows] that the first row x [S, width] makes. */
static ox_tensor *oxi_llm_row_router(const ox_llm *model, const oxi_llm_part *p, ox_tensor *x) {
    x = oxi_llm_normalize(model, &p[OXI_LLM_ALTERNATE_NORM], x);
    x = ox_mul_number_(x, 1 / (double)model->config.width);
    return ox_tanh_(oxi_llm_product(&p[OXI_LLM_ALTERNATE_ROUTER], x));
}

/* x [S, rows, width] -> what the layer's rows will be, the same */
static ox_tensor *oxi_llm_guess_rows(const ox_llm *model, const oxi_llm_part *p, ox_tensor *x) {
    const int64_t rows = model->numbers.alternate;
    ox_tensor *first = ox_contiguous(ox_select(x, 1, 0));
    ox_tensor *shares = oxi_llm_product(&p[OXI_LLM_ALTERNATE_GUESS], oxi_llm_row_router(model, p, first));
    return ox_add_(ox_matmul(ox_unflatten(shares, 1, OX_SHAPE(rows, rows)), x), x); /* [S, to, from] */
}

/* Guessed rows [S, rows, width], and what the layer made of the first, `made` [S, width] -> the rows. */
static ox_tensor *oxi_llm_correct_rows(const ox_llm *model, const oxi_llm_part *p, ox_tensor *guessed,
                                       ox_tensor *made) {
    ox_tensor *off = ox_sub(made, ox_select(guessed, 1, 0));
    ox_tensor *shares = oxi_llm_product(&p[OXI_LLM_ALTERNATE_CORRECT], oxi_llm_row_router(model, p, made));
    shares = ox_add_number_(shares, 1);
    return ox_addcmul(guessed, ox_unsqueeze(shares, 2), ox_unsqueeze(off, 1), 1);
}

/* The size of a row, [.., 1] */
static ox_tensor *oxi_llm_row_size(ox_tensor *x, double least) {
    return ox_sqrt_(ox_clamp_(ox_mean(ox_mul(x, x), OX_DIMS(-1), true), least, INFINITY));
}

/* x [rows - 1, S, width] by a matrix each, as long as `like` [S, width] */
static ox_tensor *oxi_llm_row_products(const ox_llm *model, oxi_llm_model_role role, ox_tensor *x,
                                       ox_tensor *like) {
    const int64_t rows = model->numbers.alternate - 1, width = model->config.width;
    x = oxi_llm_product_by_head(model, x, ox_unflatten(model->part[role].weight, 0, OX_SHAPE(rows, width)));
    return ox_mul(x, ox_div(oxi_llm_row_size(like, 0), oxi_llm_row_size(x, 1e-5)));
}

/* What the model begins with, of embeddings [S, width]: [S, rows, width] */
static ox_tensor *oxi_llm_alternate_rows(const ox_llm *model, ox_tensor *x) {
    const int64_t rows = model->numbers.alternate;
    if (rows == 0 || !x) return x;
    ox_tensor *list[2];
    list[0] = ox_unsqueeze(x, 0);
    list[1] = ox_expand(list[0], OX_SHAPE(rows - 1, x->shape[0], x->shape[1]));
    list[1] = oxi_llm_row_products(model, OXI_LLM_ALTERNATE_IN, list[1], x);
    return list[0] && list[1] ? ox_contiguous(ox_transpose(ox_cat(list, 2, 0), 0, 1)) : NULL;
}

/* The mean of the last `count` positions' rows, the others by a matrix each: [count, width] */
static ox_tensor *oxi_llm_join_alternate(const ox_llm *model, int64_t count, ox_tensor *x) {
    const int64_t rows = model->numbers.alternate;
    ox_tensor *list[2], *last = ox_transpose(ox_narrow(x, 0, x->shape[0] - count, count), 0, 1);
    last = ox_contiguous(last);
    list[0] = ox_narrow(last, 0, 0, 1);
    list[1] = oxi_llm_row_products(model, OXI_LLM_ALTERNATE_OUT, ox_narrow(last, 0, 1, rows - 1),
                                   ox_select(last, 0, 0));
    return list[0] && list[1] ? ox_mean(ox_cat(list, 2, 0), OX_DIMS(0), false) : NULL;
}
