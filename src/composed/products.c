/* Functions that are made of others: products of vectors, matrices and more. */

static ox_tensor *oxi_scaled_by(ox_tensor *x, double factor) {
    if (!x || factor == 1) return x;
    if (oxi_is_int(x->dtype) || x->dtype == OX_BOOL) return ox_mul(x, ox_integer((int64_t)factor));
    return ox_mul_number(x, factor);
}

/* beta c + alpha product; c is not looked at for beta 0. */
static ox_tensor *oxi_onto(oxi_work *work, ox_tensor *c, ox_tensor *product, double beta, double alpha) {
    product = oxi_scaled_by(product, alpha);
    if (beta != 0)
        product = ox_add(oxi_scaled_by(c, beta), product);
    else if (product && c->ndim > product->ndim)
        product = ox_expand(product, ox_shape_of(c));
    bool whole = product && product->dtype == OX_I64 && c->dtype == OX_BOOL; /* of factors of bool */
    return oxi_work_end(work, whole ? ox_cast(product, OX_BOOL) : product);
}

#define OXI_ONTO(name, ...)                                                                            \
    OX_API ox_tensor *ox_##name(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha) { \
        ox_tensor *in[3] = {c, a, b};                                                                  \
        if (oxi_any_null(#name, in, 3)) return NULL;                                                   \
        oxi_work work = oxi_work_begin(#name);                                                         \
        return oxi_onto(&work, c, (__VA_ARGS__), beta, alpha);                                         \
    }
OXI_ONTO(addmv, ox_matmul(a, b))
OXI_ONTO(addr, a->dtype == OX_BOOL ? ox_logical_and(ox_unsqueeze(a, 1), b) : ox_outer(a, b))
OXI_ONTO(baddbmm, ox_matmul(a, b))
OXI_ONTO(addbmm, ox_sum_as(ox_matmul(a, b), OX_DIMS(0), false, a->dtype))

/* Over the last dim of both. */
OXI_MADE_2(inner,
           !a->ndim || !b->ndim ? ox_mul(a, b) : ox_matmul(a, b->ndim == 1 ? b : ox_transpose(b, -1, -2)))
OXI_MADE_2(vdot, ox_dot(oxi_is_complex(a) ? ox_conj(a) : a, b))

OX_API ox_tensor *ox_vecdot(ox_tensor *a, ox_tensor *b, int dim) {
    ox_tensor *in[2] = {a, b};
    if (oxi_any_null("vecdot", in, 2)) return NULL;
    oxi_work work = oxi_work_begin("vecdot");
    return oxi_work_end(&work, ox_sum(ox_mul(oxi_is_complex(a) ? ox_conj(a) : a, b), OX_DIMS(dim), false));
}

/* a b over dims of either: [dims of a left, dims of b left]. */
OX_API ox_tensor *ox_tensordot(ox_tensor *a, ox_tensor *b, ox_shape dims_a, ox_shape dims_b) {
    ox_tensor *in[2] = {a, b};
    uint32_t sets[2] = {0, 0};
    ox_shape order[2], kept = oxi_no_shape();
    int64_t inner = 1;
    if (oxi_any_null("tensordot", in, 2)) return NULL;
    if (dims_a.ndim != dims_b.ndim || dims_a.ndim < 0)
        return OXI_FAIL_NULL(OX_ERR_DIM, "tensordot: %d dims with %d", dims_a.ndim, dims_b.ndim);
    if ((dims_a.ndim && !oxi_dim_set("tensordot", a, &dims_a, &sets[0])) ||
        (dims_b.ndim && !oxi_dim_set("tensordot", b, &dims_b, &sets[1])))
        return NULL;
    for (int side = 0; side < 2; side++) {
        ox_shape *o = &order[side], joined = side ? dims_b : dims_a;
        int n = in[side]->ndim, to = 0;
        *o = oxi_no_shape();
        o->ndim = n;
        for (int i = 0; i < joined.ndim; i++) {
            int d = (int)(joined.dim[i] < 0 ? joined.dim[i] + n : joined.dim[i]);
            o->dim[side ? i : n - joined.ndim + i] = d;
        }
        for (int d = 0; d < n; d++) {
            if (sets[side] >> d & 1) continue;
            o->dim[side ? joined.ndim + to : to] = d;
            to++;
            if (kept.ndim == OX_MAX_DIMS)
                return OXI_FAIL_NULL(OX_ERR_SHAPE, "tensordot: more than %d dims", OX_MAX_DIMS);
            kept.dim[kept.ndim++] = in[side]->shape[d];
        }
    }
    oxi_work work = oxi_work_begin("tensordot");
    for (int i = 0; i < dims_a.ndim; i++) { /* one element against many: those are added up */
        int d = (int)(dims_a.dim[i] < 0 ? dims_a.dim[i] + a->ndim : dims_a.dim[i]);
        int e = (int)(dims_b.dim[i] < 0 ? dims_b.dim[i] + b->ndim : dims_b.dim[i]);
        if (a->shape[d] == 1 && b->shape[e] != 1)
            b = ox_sum_as(b, OX_DIMS(e), true, b->dtype);
        else if (b->shape[e] == 1 && a->shape[d] != 1)
            a = ox_sum_as(a, OX_DIMS(d), true, a->dtype);
        if (!a || !b) return oxi_work_end(&work, NULL);
        if (a->shape[d] != b->shape[e]) {
            (void)oxi_fail(OX_ERR_SHAPE, "tensordot: dim %d of %s with dim %d of %s", d, oxi_tensor_text(a),
                           e, oxi_tensor_text(b));
            return oxi_work_end(&work, NULL);
        }
        inner *= a->shape[d];
    }
    int64_t rows = 1, columns = 1;
    for (int i = 0; i < kept.ndim; i++) *(i < a->ndim - dims_a.ndim ? &rows : &columns) *= kept.dim[i];
    ox_tensor *left = ox_reshape(ox_permute(a, order[0]), OX_SHAPE(rows, inner));
    ox_tensor *right = ox_reshape(ox_permute(b, order[1]), OX_SHAPE(inner, columns));
    return oxi_work_end(&work, ox_reshape(ox_matmul(left, right), kept));
}

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
