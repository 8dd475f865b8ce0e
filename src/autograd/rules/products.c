/* Gradients of products: g by the other operand, transposed (and conjugated). Narrow floats stay narrow, as
 * they do on the way there: products add them up in f32. Block types have no gradient themselves, but what
 * they are multiplied with has. */

/* t [.., m, n] -> [.., n, m], conjugated. */
static ox_tensor *oxi_transposed_factor(ox_tensor *t) {
    return t ? oxi_conjugate(ox_transpose(t, -2, -1)) : NULL;
}

/* A vector as the matrix that it stands for in a product. */
static ox_tensor *oxi_as_matrix(ox_tensor *t, int dim) {
    if (!t || t->ndim > 1) return t;
    return ox_unsqueeze(oxi_is_block(t->dtype) ? oxi_wide(t) : t, dim);
}

/* [.., m, n] as [rows, n]. */
static ox_tensor *oxi_as_rows(ox_tensor *t) {
    if (!t || t->ndim == 2) return t;
    int64_t columns = t->shape[t->ndim - 1], rows = 1;
    for (int d = 0; d < t->ndim - 1; d++) rows *= t->shape[d];
    return ox_reshape(t, OX_SHAPE(rows, columns));
}

/* g [.., m, n] w [n, k] where w is of a block type: its rows as floats, a few at a time. */
static ox_tensor *oxi_times_blocks(ox_tensor *g, ox_tensor *w) {
    const int64_t most = (int64_t)1 << 22; /* elements */
    ox_tensor *sum = NULL;
    if (!g || !w) return NULL;
    if (w->ndim != 2) return ox_matmul(oxi_wide(g), oxi_as_dtype_of(oxi_wide(w), oxi_wide(g)));
    int64_t rows = w->shape[0], step = w->shape[1] ? most / w->shape[1] + 1 : 1;
    for (int64_t at = 0; at < rows || !sum; at += step) {
        int64_t count = rows - at < step ? rows - at : step;
        ox_scope scope = ox_scope_begin();
        ox_tensor *part = oxi_wide(ox_narrow(g, -1, at, count));
        part = ox_matmul(part, oxi_as_dtype_of(oxi_wide(ox_narrow(w, 0, at, count)), part));
        sum = ox_keep(sum ? ox_add(sum, part) : part);
        ox_scope_end(&scope);
        if (!sum) return NULL;
    }
    return sum;
}

static ox_tensor *oxi_matmul_left_back(ox_tensor *g, ox_tensor *other) {
    if (other && oxi_is_block(other->dtype)) return oxi_times_blocks(g, other);
    return ox_matmul(oxi_as_dtype_of(g, other), other);
}

/* other^T g; with leading dims as more rows, where the right operand has none. */
static ox_tensor *oxi_matmul_right_back(ox_tensor *g, ox_tensor *other, bool folds) {
    if (other && oxi_is_block(other->dtype))
        return ox_transpose(oxi_times_blocks(ox_transpose(g, -2, -1), other), -2, -1);
    if (folds) {
        other = oxi_as_rows(other);
        g = oxi_as_rows(g);
    }
    other = oxi_transposed_factor(other);
    return ox_matmul(other, oxi_as_dtype_of(g, other));
}

OXI_GRADIENT_RULE(matmul) {
    const oxi_outline *a = &b->operand[0], *right = &b->operand[1];
    ox_tensor *g = b->g[0];
    ox_status status = OX_OK;
    if (right->ndim == 1) g = ox_unsqueeze(g, -1);
    if (a->ndim == 1) g = ox_unsqueeze(g, -2);
    if (b->wants[0]) {
        ox_tensor *own = oxi_matmul_left_back(g, oxi_transposed_factor(oxi_as_matrix(b->call->in[1], 1)));
        status = oxi_gives(b, 0, a->ndim == 1 ? ox_squeeze(own, -2) : own);
    }
    if (status == OX_OK && b->wants[1]) {
        ox_tensor *other = oxi_as_matrix(b->call->in[0], 0);
        ox_tensor *own = oxi_matmul_right_back(g, other, right->ndim == 2 && a->ndim > 2);
        status = oxi_gives(b, 1, right->ndim == 1 ? ox_squeeze(own, -1) : own);
    }
    return status;
}

/* ---- layers -------------------------------------------------------------------------------------------- */

static ox_tensor *oxi_product_operand(ox_tensor *t) {
    bool eight_bits = t && (t->dtype == OX_F8_E4M3 || t->dtype == OX_F8_E5M2);
    return eight_bits ? ox_cast(t, OX_F32) : t;
}

/* The gradient of what the activation was applied to. */
static ox_tensor *oxi_before_activation(const oxi_backward *b) {
    static const struct { oxi_op op; bool reads_result; } activations[] = {
        {OXI_OP_copy, true},       {OXI_OP_relu, true},  {OXI_OP_gelu, false},   {OXI_OP_gelu_tanh, false},
        {OXI_OP_silu, false},      {OXI_OP_sigmoid, true}, {OXI_OP_tanh, true}};
    const oxi_call *call = b->call;
    int activation = call->attr.activation.activation;
    ox_tensor *g = b->g[0], *x = NULL;
    if (activation == OX_ACTIVATION_NONE) return g;
    if (!activations[activation].reads_result) {
        x = ox_linear(call->in[0], call->in[1], call->in[2]);
        if (!x) return NULL;
    }
    return oxi_as_dtype_of(oxi_formula_run(activations[activation].op, NULL, x, b->out[0], g), g);
}

OXI_GRADIENT_RULE(linear) {
    const oxi_call *call = b->call;
    ox_tensor *g = oxi_product_operand(oxi_before_activation(b));
    ox_status status = g ? OX_OK : ox_error();
    if (status == OX_OK && b->wants[0]) {
        ox_tensor *w = call->in[1];
        bool block = w && oxi_is_block(w->dtype);
        ox_tensor *own =
            block ? oxi_times_blocks(g, w) : ox_linear(g, w ? ox_t(oxi_conjugate(w)) : NULL, NULL);
        status = oxi_gives(b, 0, own);
    }
    if (status == OX_OK && b->wants[1]) {
        ox_tensor *x = oxi_as_rows(oxi_as_matrix(oxi_conjugate(oxi_product_operand(call->in[0])), 0));
        ox_tensor *rows = oxi_as_dtype_of(oxi_as_rows(oxi_as_matrix(g, 0)), x);
        status = oxi_gives(b, 1, ox_matmul(ox_t(rows), x));
    }
    if (status == OX_OK && call->in_count > 2 && b->wants[2]) status = oxi_gives(b, 2, g);
    return status;
}

OXI_GRADIENT_RULE(addmm) {
    const oxi_attr_addmm *told = &b->call->attr.addmm;
    ox_tensor *g = b->g[0];
    ox_status status = OX_OK;
    if (b->wants[0] && told->beta != 0)
        status = oxi_gives(b, 0, told->beta == 1 ? g : ox_mul_number(g, told->beta));
    ox_tensor *scaled = told->alpha == 1 ? g : ox_mul_number(g, told->alpha);
    if (status == OX_OK && b->wants[1])
        status = oxi_gives(b, 1, oxi_matmul_left_back(scaled, oxi_transposed_factor(b->call->in[2])));
    if (status == OX_OK && b->wants[2])
        status = oxi_gives(b, 2, oxi_matmul_right_back(scaled, b->call->in[1], false));
    return status;
}

/* ---- experts ------------------------------------------------------------------------------------------- */

/* Which of the pairs (r, s) have an expert, in their order: i64 [count], beside g. ids: [pairs], on the host;
 * list has room for all pairs. */
static ox_tensor *oxi_pairs_of_expert(const int64_t *ids, int64_t pairs, int64_t expert, int64_t *list,
                                      int64_t each, const ox_tensor *beside) {
    int64_t count = 0;
    for (int64_t i = 0; i < pairs; i++)
        if (ids[i] == expert) list[count++] = i / each;
    ox_tensor *made = oxi_copied(list, OX_SHAPE(count), OX_I64);
    return ox_to(made, oxi_working_device(ox_device_of(beside)));
}

/* g[pairs]^T x[pairs] of each expert. g [pairs,N]; x [pairs,K], or [R,K] where `each` pairs share a row. */
static ox_tensor *oxi_expert_products(const oxi_backward *b, ox_tensor *g, ox_tensor *x, const int64_t *ids,
                                      int64_t *list, ox_tensor **products) {
    int64_t pairs = ox_numel(b->call->in[2]), experts = b->operand[1].shape[0];
    int64_t each = b->operand[0].ndim == 2 ? b->operand[2].shape[1] : 1;
    for (int64_t e = 0; e < experts; e++) {
        ox_tensor *own = oxi_pairs_of_expert(ids, pairs, e, list, 1, g);
        ox_tensor *rows = oxi_pairs_of_expert(ids, pairs, e, list, each, g);
        ox_tensor *left = ox_index_select(g, 0, own), *right = ox_index_select(x, 0, rows);
        products[e] = left ? ox_matmul(ox_t(left), right) : NULL;
        if (!products[e]) return NULL;
    }
    return ox_stack(products, (int)experts, 0);
}

/* The rows of an expert are known to the host only when its ids are read. */
static ox_tensor *oxi_expert_weights_back(const oxi_backward *b, ox_tensor *g) {
    ox_tensor *experts = b->call->in[2], *result = NULL;
    int64_t pairs = ox_numel(experts), count = b->operand[1].shape[0];
    if (count > INT32_MAX)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "linear_experts: %lld experts", (long long)count);
    size_t ids_bytes = (size_t)pairs * 2 * sizeof(int64_t), list_bytes = (size_t)count * sizeof(ox_tensor *);
    int64_t *ids = (int64_t *)oxi_alloc(ids_bytes ? ids_bytes : 1);
    ox_tensor **products = (ox_tensor **)oxi_alloc(list_bytes ? list_bytes : 1);
    ox_tensor *x = oxi_as_rows(oxi_product_operand(b->call->in[0]));
    if (ids && products && x && ox_to_ints(experts, ids, pairs) == OX_OK)
        result = oxi_expert_products(b, oxi_as_dtype_of(oxi_as_rows(g), x), x, ids, ids + pairs, products);
    if (ids) oxi_free(ids, ids_bytes ? ids_bytes : 1);
    if (products) oxi_free(products, list_bytes ? list_bytes : 1);
    return result;
}

/* g [R,S,N] through the experts that the rows went through. */
OXI_GRADIENT_RULE(linear_experts) {
    const oxi_call *call = b->call;
    ox_tensor *g = oxi_product_operand(b->g[0]), *experts = call->in[2];
    ox_status status = g ? OX_OK : ox_error();
    if (status == OX_OK && b->wants[0]) {
        ox_tensor *w = call->in[1];
        if (w && oxi_is_block(w->dtype)) w = oxi_wide(w); /* blocks do not run along the other dim */
        ox_tensor *own = w ? ox_linear_experts(g, ox_transpose(w, 1, 2), experts, NULL) : NULL;
        status = oxi_gives(b, 0, b->operand[0].ndim == 2 ? ox_sum(own, OX_DIMS(1), false) : own);
    }
    if (status == OX_OK && b->wants[1] && b->operand[1].shape[0] > 0)
        status = oxi_gives(b, 1, oxi_expert_weights_back(b, g));
    if (status == OX_OK && call->in_count > 3 && b->wants[3]) {
        ox_tensor *zeros = oxi_zeros_for(b, 3, g);
        status = oxi_gives(b, 3, ox_index_add(zeros, 0, ox_flatten(experts, 0, -1), oxi_as_rows(g), 1));
    }
    return status;
}
