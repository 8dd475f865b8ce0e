/* Functions that are made of others: products of matrices and of sets, in ways that programs rarely need. */

OX_API ox_tensor *ox_kron(ox_tensor *a, ox_tensor *b) {
    ox_tensor *in[2] = {a, b};
    ox_shape wide[2], shape = oxi_no_shape();
    if (oxi_any_null("kron", in, 2)) return NULL;
    int n = a->ndim > b->ndim ? a->ndim : b->ndim;
    if (2 * n > OX_MAX_DIMS) return OXI_FAIL_NULL(OX_ERR_SHAPE, "kron: more than %d dims", OX_MAX_DIMS / 2);
    wide[0] = wide[1] = shape;
    wide[0].ndim = wide[1].ndim = 2 * n;
    shape.ndim = n;
    for (int d = 0; d < n; d++) {
        int64_t own[2];
        for (int s = 0; s < 2; s++) {
            int from = d - (n - in[s]->ndim);
            own[s] = from < 0 ? 1 : in[s]->shape[from];
            wide[s].dim[2 * d + s] = own[s];
            wide[s].dim[2 * d + 1 - s] = 1;
        }
        shape.dim[d] = own[0] * own[1];
    }
    oxi_work work = oxi_work_begin("kron");
    return oxi_work_end(&work, ox_reshape(ox_mul(ox_reshape(a, wide[0]), ox_reshape(b, wide[1])), shape));
}

OX_API ox_tensor *ox_cross(ox_tensor *a, ox_tensor *b, int dim) {
    ox_tensor *in[2] = {a, b};
    if (oxi_any_null("cross", in, 2)) return NULL;
    int at = oxi_own_dim("cross", a->ndim >= b->ndim ? a : b, dim),
        back = at - (a->ndim >= b->ndim ? a : b)->ndim;
    if (at < 0) return NULL;
    for (int s = 0; s < 2; s++)
        if (in[s]->ndim < -back || in[s]->shape[in[s]->ndim + back] != 3)
            return OXI_FAIL_NULL(OX_ERR_SHAPE, "cross: %s has not 3 elements along dim %d",
                                 oxi_tensor_text(in[s]), dim);
    oxi_work work = oxi_work_begin("cross");
    ox_tensor *left = ox_mul(ox_roll(a, OX_DIMS(-1), OX_DIMS(back)), ox_roll(b, OX_DIMS(-2), OX_DIMS(back)));
    ox_tensor *right = ox_mul(ox_roll(a, OX_DIMS(-2), OX_DIMS(back)), ox_roll(b, OX_DIMS(-1), OX_DIMS(back)));
    return oxi_work_end(&work, ox_sub(left, right));
}

/* Columns x^0 .. x^(columns - 1), or the other way around. */
OX_API ox_tensor *ox_vander(ox_tensor *x, int64_t columns, bool increasing) {
    if (oxi_any_null("vander", &x, 1)) return NULL;
    if (columns < 0)
        return OXI_FAIL_NULL(OX_ERR_ARG, "vander: %lld columns of %s", (long long)columns,
                             oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("vander");
    if (x->ndim == 0) x = ox_unsqueeze(x, 0);
    ox_tensor *ones = ox_ones_like(ox_unsqueeze(x, -1)), *parts[2], *made;
    if (ones && (ones->dtype == OX_BOOL || oxi_is_int(ones->dtype))) ones = ox_cast(ones, OX_I64);
    if (columns == 0) return oxi_work_end(&work, ox_narrow(ones, -1, 0, 0));
    ox_shape wide = ones ? ox_shape_of(ones) : oxi_no_shape();
    if (wide.ndim) wide.dim[wide.ndim - 1] = columns - 1;
    parts[0] = ones;
    parts[1] = ones ? ox_cumprod(ox_expand(ox_cast(ox_unsqueeze(x, -1), ones->dtype), wide), -1) : NULL;
    made = columns == 1 ? ones : ox_cat(parts, 2, -1);
    return oxi_work_end(&work, increasing ? made : ox_flip(made, OX_DIMS(-1)));
}

OX_API ox_tensor *ox_bilinear(ox_tensor *a, ox_tensor *b, ox_tensor *weight, ox_tensor *bias) {
    ox_tensor *in[3] = {a, b, weight};
    if (oxi_any_null("bilinear", in, 3)) return NULL;
    if (weight->ndim != 3 || a->ndim < 1 || b->ndim < 1)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "bilinear: weight %s", oxi_tensor_text(weight));
    oxi_work work = oxi_work_begin("bilinear");
    /* [.., i] and [o, i, j] to [.., o, j] */
    ox_tensor *left = ox_tensordot(a, weight, OX_DIMS(-1), OX_DIMS(1));
    ox_tensor *made = ox_sum(ox_mul(left, ox_unsqueeze(b, -2)), OX_DIMS(-1), false);
    if (made && made->dtype != a->dtype) made = ox_cast(made, a->dtype);
    return oxi_work_end(&work, bias ? ox_add(made, bias) : made);
}

/* ---- of lists ------------------------------------------------------------------------------------------ */

OX_API ox_tensor *ox_block_diag(ox_tensor *const *list, int count) {
    int64_t rows = 0, columns = 0;
    if (count < 1) return OXI_FAIL_NULL(OX_ERR_ARG, "block_diag: no tensors");
    if (oxi_any_null("block_diag", list, count)) return NULL;
    ox_dtype dtype = list[0]->dtype;
    for (int i = 0; i < count; i++) {
        const ox_tensor *t = list[i];
        if (t->ndim > 2)
            return OXI_FAIL_NULL(OX_ERR_SHAPE, "block_diag: %s has more than 2 dims", oxi_tensor_text(t));
        rows += t->ndim > 1 ? t->shape[0] : 1;
        columns += t->ndim ? t->shape[t->ndim - 1] : 1;
        dtype = ox_promote_types(dtype, t->dtype);
    }
    oxi_work work = oxi_work_begin("block_diag");
    ox_tensor *out = oxi_full("block_diag", OX_SHAPE(rows, columns), 0, dtype, ox_device_of(list[0]));
    rows = columns = 0;
    bool done = out != NULL;
    for (int i = 0; done && i < count; i++) {
        ox_tensor *block = oxi_atleast(list[i], 2);
        if (!block) break;
        ox_tensor *place = ox_narrow(ox_narrow(out, 0, rows, block->shape[0]), 1, columns, block->shape[1]);
        done = ox_copy_(place, block) != NULL;
        rows += block->shape[0];
        columns += block->shape[1];
    }
    return oxi_work_end(&work, done ? out : NULL);
}

OX_API ox_tensor *ox_cartesian_prod(ox_tensor *const *list, int count) {
    ox_tensor *grid[OX_MAX_DIMS];
    ox_scope scope = ox_scope_begin();
    ox_tensor *made = NULL;
    if (count == 1 && list[0])
        made = oxi_same_again(list[0]);
    else if (ox_meshgrid(list, count, "ij", grid, OX_MAX_DIMS) == count)
        made = ox_reshape(ox_stack(grid, count, -1), OX_SHAPE(-1, count));
    ox_keep(made);
    ox_scope_end(&scope);
    return made;
}

OX_API ox_tensor *ox_combinations(ox_tensor *x, int r, bool with_replacement) {
    ox_tensor *grid[OX_MAX_DIMS], *list[OX_MAX_DIMS], *places = NULL, *keep = NULL;
    if (oxi_any_null("combinations", &x, 1)) return NULL;
    if (x->ndim != 1 || r < 0 || r > OX_MAX_DIMS)
        return OXI_FAIL_NULL(OX_ERR_ARG, "combinations: %d of %s", r, oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("combinations");
    if (r == 0) return oxi_work_end(&work, ox_narrow(x, 0, 0, 0));
    ox_tensor *ramp = oxi_ramp_beside(x, x->shape[0], OX_I64);
    for (int i = 0; i < r; i++) list[i] = ramp;
    if (!ramp || ox_meshgrid(list, r, "ij", grid, r) != r) return oxi_work_end(&work, NULL);
    for (int i = 0; i + 1 < r; i++) {
        ox_tensor *rises = with_replacement ? ox_le(grid[i], grid[i + 1]) : ox_lt(grid[i], grid[i + 1]);
        keep = keep ? ox_logical_and(keep, rises) : rises;
    }
    for (int i = 0; i < r; i++) grid[i] = keep ? ox_masked_select(grid[i], keep) : grid[i];
    places = ox_reshape(ox_stack(grid, r, -1), OX_SHAPE(-1));
    return oxi_work_end(&work, ox_reshape(ox_index_select(x, 0, places), OX_SHAPE(-1, r)));
}

/* ---- a chain of matrices, in the cheapest order -------------------------------------------------------- */

enum { OXI_MULTI_DOT_MOST = 64 };

/* Matrix i has size[i] rows and size[i + 1] columns; first to last cost[first][last] multiplications, those
 * up to cut[first][last] before the others. */
typedef struct oxi_multi_dot {
    ox_tensor *list[OXI_MULTI_DOT_MOST];
    double size[OXI_MULTI_DOT_MOST + 1], cost[OXI_MULTI_DOT_MOST][OXI_MULTI_DOT_MOST];
    unsigned char cut[OXI_MULTI_DOT_MOST][OXI_MULTI_DOT_MOST];
} oxi_multi_dot;

static void oxi_multi_dot_order(oxi_multi_dot *m, int count) {
    for (int span = 1; span < count; span++)
        for (int i = 0; i + span < count; i++) {
            const int last = i + span;
            m->cost[i][last] = INFINITY;
            for (int k = i; k < last; k++) {
                double c = m->cost[i][k] + m->cost[k + 1][last] +
                           m->size[i] * m->size[k + 1] * m->size[last + 1];
                if (c >= m->cost[i][last]) continue;
                m->cost[i][last] = c;
                m->cut[i][last] = (unsigned char)k;
            }
        }
}

static ox_tensor *oxi_dot_between(const oxi_multi_dot *m, int first, int last) {
    if (first == last) return m->list[first];
    int at = m->cut[first][last];
    return ox_matmul(oxi_dot_between(m, first, at), oxi_dot_between(m, at + 1, last));
}

OX_API ox_tensor *ox_multi_dot(ox_tensor *const *list, int count) {
    if (count < 2 || count > OXI_MULTI_DOT_MOST)
        return OXI_FAIL_NULL(OX_ERR_ARG, "multi_dot: %d matrices, not 2 to %d", count, OXI_MULTI_DOT_MOST);
    if (oxi_any_null("multi_dot", list, count)) return NULL;
    for (int i = 0; i < count; i++) {
        bool end = i == 0 || i == count - 1;
        if (list[i]->ndim != 2 && !(end && list[i]->ndim == 1))
            return OXI_FAIL_NULL(OX_ERR_SHAPE, "multi_dot: %s is no matrix", oxi_tensor_text(list[i]));
    }
    oxi_multi_dot *m = (oxi_multi_dot *)oxi_calloc(1, sizeof *m);
    if (!m) return NULL;
    oxi_work work = oxi_work_begin("multi_dot");
    ox_tensor *made = NULL;
    bool fine = true;
    for (int i = 0; i < count && fine; i++) {
        m->list[i] = list[i]->ndim == 2 ? list[i] : ox_unsqueeze(list[i], i ? 1 : 0);
        fine = m->list[i] != NULL;
        if (!fine) break;
        m->size[i] = (double)m->list[i]->shape[0];
        m->size[i + 1] = (double)m->list[i]->shape[1];
    }
    if (fine) {
        oxi_multi_dot_order(m, count);
        made = oxi_dot_between(m, 0, count - 1);
    }
    if (list[count - 1]->ndim == 1) made = ox_squeeze(made, -1);
    if (list[0]->ndim == 1) made = ox_squeeze(made, 0);
    oxi_free(m, sizeof *m);
    return oxi_work_end(&work, made);
}
