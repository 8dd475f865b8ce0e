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
