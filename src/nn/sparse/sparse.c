/* Sparse tensors as values of three tensors. Everything is reduced to COO: places along the sparse dims are
 * made one number, rows of values are added up at them. */

static ox_sparse oxi_no_sparse(void) {
    ox_sparse none;
    memset(&none, 0, sizeof none);
    return none;
}

static ox_sparse oxi_sparse_fail(ox_status status, const char *name, const ox_tensor *a, const ox_tensor *b) {
    (void)oxi_fail(status, "%s: %s with %s", name, oxi_tensor_text(a), oxi_tensor_text(b));
    return oxi_no_sparse();
}

/* Ends the work with the parts of a value; none where one is missing. */
static ox_sparse oxi_sparse_end(oxi_work *work, ox_tensor *values, ox_tensor *indices, ox_tensor *pointers,
                                bool csr, ox_shape shape, bool coalesced) {
    bool made = values && indices && (pointers || !csr);
    ox_tuple kept = oxi_tuple_end(work, made ? values : NULL, indices, pointers);
    ox_sparse s = oxi_no_sparse();
    if (!kept.t[0]) return s;
    s.values = kept.t[0];
    s.indices = kept.t[1];
    s.pointers = kept.t[2];
    s.shape = shape;
    s.coalesced = coalesced;
    return s;
}

static bool oxi_sparse_is(const char *name, const ox_sparse *s) {
    ox_tensor *values = s ? s->values : NULL;
    return !oxi_any_null(name, &values, 1);
}
static bool oxi_sparse_matrix(const char *name, const ox_sparse *s) {
    if (!oxi_sparse_is(name, s)) return false;
    if (s->shape.ndim == 2 && s->values->ndim == 1) return true;
    (void)oxi_fail(OX_ERR_SHAPE, "%s: values %s of %d dims are no sparse matrix", name,
                   oxi_tensor_text(s->values), s->shape.ndim);
    return false;
}
static int oxi_sparse_dims(const ox_sparse *s) {
    return s->pointers ? 2 : (int)s->indices->shape[0];
}

/* The product of the first dims, checked. */
static bool oxi_sparse_cells(const char *name, ox_shape shape, int dims, int64_t *cells) {
    int64_t count = 1;
    for (int d = 0; d < dims; d++) {
        if (shape.dim[d] < 0 || (shape.dim[d] && count > INT64_MAX / shape.dim[d])) {
            (void)oxi_fail(OX_ERR_SHAPE, "%s: sizes that no tensor has", name);
            return false;
        }
        count *= shape.dim[d];
    }
    *cells = count;
    return true;
}

/* Where in the flattened sparse dims each value is: i64 [count]. */
static ox_tensor *oxi_sparse_places(const ox_sparse *s) {
    int dims = oxi_sparse_dims(s);
    ox_tensor *place = NULL;
    for (int d = 0; d < dims; d++) {
        ox_tensor *at = ox_select(s->indices, 0, d);
        place = d ? ox_add(ox_mul(place, ox_integer(s->shape.dim[d])), at) : at;
    }
    return place;
}

/* 0 .. rows - 1, each as often as pointers say. */
static ox_tensor *oxi_csr_rows(const ox_tensor *pointers, ox_tensor *columns) {
    ox_tensor *from = (ox_tensor *)(uintptr_t)pointers;
    ox_tensor *ramp = oxi_ramp_beside(columns, columns->shape[0], OX_I64);
    return ox_sub(ox_searchsorted(from, ramp, true), ox_integer(1));
}

static bool oxi_sparse_inside(const char *name, ox_tensor *indices, int64_t end) {
    if (ox_numel(indices) == 0) return true;
    int64_t least = ox_item_int(ox_amin(indices, OX_ALL_DIMS, false)),
            most = ox_item_int(ox_amax(indices, OX_ALL_DIMS, false));
    if (ox_error()) return false;
    if (least >= 0 && most < end) return true;
    (void)oxi_fail(OX_ERR_INDEX, "%s: indices from %lld to %lld of %lld", name, (long long)least,
                   (long long)most, (long long)end);
    return false;
}

OX_API ox_sparse ox_sparse_coo_tensor(ox_tensor *indices, ox_tensor *values, ox_shape shape) {
    const char *name = "sparse_coo_tensor";
    ox_tensor *both[2] = {indices, values};
    if (oxi_any_null(name, both, 2)) return oxi_no_sparse();
    if (indices->ndim != 2 || values->ndim < 1 || values->shape[0] != indices->shape[1] ||
        indices->shape[0] < 1 || indices->shape[0] + values->ndim - 1 > OX_MAX_DIMS)
        return oxi_sparse_fail(OX_ERR_SHAPE, name, indices, values);
    if (!oxi_is_int(indices->dtype)) return oxi_sparse_fail(OX_ERR_DTYPE, name, indices, values);
    oxi_work work = oxi_work_begin(name);
    int dims = (int)indices->shape[0], rest = values->ndim - 1;
    indices = ox_cast(indices, OX_I64);
    bool fits = indices && (shape.ndim == 0 || shape.ndim == dims + rest);
    for (int d = 0; d < rest && fits && shape.ndim; d++) fits = shape.dim[dims + d] == values->shape[1 + d];
    if (!fits) {
        (void)oxi_fail(OX_ERR_SHAPE, "%s: %d dims of values %s", name, shape.ndim, oxi_tensor_text(values));
        indices = NULL;
    }
    bool grows = shape.ndim == 0;
    for (int d = 0; d < dims && indices; d++) {
        ox_tensor *own = ox_select(indices, 0, d);
        if (grows) shape.dim[d] = ox_numel(own) ? ox_item_int(ox_amax(own, OX_ALL_DIMS, false)) + 1 : 0;
        if (!oxi_sparse_inside(name, own, shape.dim[d])) indices = NULL;
    }
    for (int d = 0; d < rest; d++) shape.dim[dims + d] = values->shape[1 + d];
    shape.ndim = dims + rest;
    values = indices ? ox_view(values, ox_shape_of(values)) : NULL;
    return oxi_sparse_end(&work, values, indices, NULL, false, shape, false);
}

OX_API ox_sparse ox_sparse_csr_tensor(ox_tensor *pointers, ox_tensor *columns, ox_tensor *values,
                                      ox_shape shape) {
    const char *name = "sparse_csr_tensor";
    ox_tensor *all[3] = {pointers, columns, values};
    if (oxi_any_null(name, all, 3)) return oxi_no_sparse();
    if (pointers->ndim != 1 || columns->ndim != 1 || values->ndim != 1 || shape.ndim != 2 ||
        pointers->shape[0] != shape.dim[0] + 1 || columns->shape[0] != values->shape[0])
        return oxi_sparse_fail(OX_ERR_SHAPE, name, columns, values);
    if (!oxi_is_int(pointers->dtype) || !oxi_is_int(columns->dtype))
        return oxi_sparse_fail(OX_ERR_DTYPE, name, pointers, columns);
    oxi_work work = oxi_work_begin(name);
    pointers = ox_cast(pointers, OX_I64);
    columns = ox_cast(columns, OX_I64);
    bool fits = pointers && columns && oxi_sparse_inside(name, columns, shape.dim[1]);
    if (fits) {
        bool rises = ox_item_int(ox_select(pointers, 0, 0)) == 0 &&
                     ox_item_int(ox_select(pointers, 0, -1)) == columns->shape[0] &&
                     ox_item_int(ox_all(ox_ge_number(ox_diff(pointers, 1, 0, NULL, NULL), 0), OX_ALL_DIMS,
                                        false)) == 1;
        if (!rises) (void)oxi_fail(OX_ERR_INDEX, "%s: pointers do not rise from 0 to the count", name);
        fits = rises;
    }
    return oxi_sparse_end(&work, fits ? ox_view(values, ox_shape_of(values)) : NULL, columns, pointers, true,
                          shape, false);
}

OX_API ox_sparse ox_to_sparse(ox_tensor *x, int sparse_dims) {
    const char *name = "to_sparse";
    int64_t cells;
    if (oxi_any_null(name, &x, 1)) return oxi_no_sparse();
    if (sparse_dims == 0) sparse_dims = x->ndim;
    ox_shape shape = ox_shape_of(x), flat = shape;
    if (sparse_dims < 1 || sparse_dims > x->ndim || !oxi_sparse_cells(name, shape, sparse_dims, &cells)) {
        if (!ox_error())
            (void)oxi_fail(OX_ERR_DIM, "%s: %d dims of %s", name, sparse_dims, oxi_tensor_text(x));
        return oxi_no_sparse();
    }
    oxi_work work = oxi_work_begin(name);
    ox_shape tail = oxi_no_shape();
    for (int d = sparse_dims; d < x->ndim; d++) tail.dim[tail.ndim++] = d;
    ox_tensor *some = ox_ne_number(x, 0);
    if (tail.ndim) some = ox_any(some, tail, false);
    ox_tensor *indices = ox_t(ox_nonzero(some));
    flat.ndim = 1 + tail.ndim;
    flat.dim[0] = cells;
    for (int d = 0; d < tail.ndim; d++) flat.dim[1 + d] = shape.dim[sparse_dims + d];
    ox_sparse s = oxi_no_sparse();
    s.indices = indices = indices ? ox_contiguous(indices) : NULL;
    s.shape = shape;
    ox_tensor *values = indices ? ox_index_select(ox_reshape(x, flat), 0, oxi_sparse_places(&s)) : NULL;
    return oxi_sparse_end(&work, values, indices, NULL, false, shape, true);
}

OX_API ox_sparse ox_sparse_to_coo(const ox_sparse *s) {
    if (!oxi_sparse_is("sparse_to_coo", s)) return oxi_no_sparse();
    oxi_work work = oxi_work_begin("sparse_to_coo");
    ox_tensor *indices = ox_view(s->indices, ox_shape_of(s->indices));
    if (s->pointers) {
        ox_tensor *both[2] = {oxi_csr_rows(s->pointers, s->indices), s->indices};
        indices = both[0] ? ox_stack(both, 2, 0) : NULL;
    }
    return oxi_sparse_end(&work, ox_view(s->values, ox_shape_of(s->values)), indices, NULL, false, s->shape,
                          !s->pointers && s->coalesced);
}

OX_API ox_sparse ox_sparse_coalesce(const ox_sparse *s) {
    if (!oxi_sparse_is("sparse_coalesce", s)) return oxi_no_sparse();
    if (s->coalesced && !s->pointers) return ox_sparse_to_coo(s);
    oxi_work work = oxi_work_begin("sparse_coalesce");
    ox_sparse coo = ox_sparse_to_coo(s);
    int dims = coo.values ? oxi_sparse_dims(&coo) : 0;
    int64_t cells;
    ox_tensor *parts[OX_MAX_DIMS], *values = NULL, *indices = NULL;
    if (coo.values && oxi_sparse_cells("sparse_coalesce", s->shape, dims, &cells)) {
        ox_tuple each = ox_unique(oxi_sparse_places(&coo), OX_FLATTENED);
        ox_shape shape = ox_shape_of(coo.values);
        if (each.t[0]) {
            shape.dim[0] = ox_numel(each.t[0]);
            values = ox_index_add(oxi_full("zeros", shape, 0, coo.values->dtype, ox_device_of(coo.values)), 0,
                                  each.t[1], coo.values, 1);
        }
        ox_shape first = s->shape;
        first.ndim = dims;
        if (values && ox_unravel_index(each.t[0], first, parts, dims) == dims)
            indices = ox_stack(parts, dims, 0);
    }
    return oxi_sparse_end(&work, values, indices, NULL, false, s->shape, true);
}

OX_API ox_sparse ox_sparse_to_csr(const ox_sparse *s) {
    if (!oxi_sparse_matrix("sparse_to_csr", s)) return oxi_no_sparse();
    oxi_work work = oxi_work_begin("sparse_to_csr");
    ox_tensor *values = NULL, *columns = NULL, *pointers = NULL;
    if (s->pointers) {
        values = ox_view(s->values, ox_shape_of(s->values));
        columns = ox_view(s->indices, ox_shape_of(s->indices));
        pointers = ox_view(s->pointers, ox_shape_of(s->pointers));
    } else {
        ox_sparse coo = ox_sparse_coalesce(s);
        if (coo.values) {
            ox_tensor *rows = ox_contiguous(ox_select(coo.indices, 0, 0));
            ox_tensor *ends = rows ? oxi_ramp_beside(rows, s->shape.dim[0] + 1, OX_I64) : NULL;
            pointers = ends ? ox_searchsorted(rows, ends, false) : NULL;
            columns = ox_contiguous(ox_select(coo.indices, 0, 1));
            values = coo.values;
        }
    }
    return oxi_sparse_end(&work, values, columns, pointers, true, s->shape, false);
}

OX_API ox_sparse ox_to_sparse_csr(ox_tensor *x) {
    if (oxi_any_null("to_sparse_csr", &x, 1)) return oxi_no_sparse();
    oxi_work work = oxi_work_begin("to_sparse_csr");
    ox_sparse coo = ox_to_sparse(x, 0), csr = oxi_no_sparse();
    if (coo.values) csr = ox_sparse_to_csr(&coo);
    return oxi_sparse_end(&work, csr.values, csr.indices, csr.pointers, true, csr.shape, false);
}

OX_API ox_tensor *ox_to_dense(const ox_sparse *s) {
    int64_t cells;
    if (!oxi_sparse_is("to_dense", s)) return NULL;
    oxi_work work = oxi_work_begin("to_dense");
    ox_sparse coo = ox_sparse_to_coo(s);
    if (!coo.values || !oxi_sparse_cells("to_dense", s->shape, oxi_sparse_dims(&coo), &cells))
        return oxi_work_end(&work, NULL);
    ox_shape shape = ox_shape_of(coo.values);
    shape.dim[0] = cells;
    ox_tensor *zeros = oxi_full("zeros", shape, 0, coo.values->dtype, ox_device_of(coo.values));
    ox_tensor *whole = ox_index_add(zeros, 0, oxi_sparse_places(&coo), coo.values, 1);
    return oxi_work_end(&work, ox_reshape(whole, s->shape));
}

OX_API ox_sparse ox_sparse_t(const ox_sparse *s) {
    if (!oxi_sparse_matrix("sparse_t", s)) return oxi_no_sparse();
    oxi_work work = oxi_work_begin("sparse_t");
    ox_sparse coo = ox_sparse_to_coo(s);
    ox_shape shape = OX_SHAPE(s->shape.dim[1], s->shape.dim[0]);
    return oxi_sparse_end(&work, coo.values, coo.indices ? ox_flip(coo.indices, OX_DIMS(0)) : NULL, NULL,
                          false, shape, false);
}

/* ---- sums and products --------------------------------------------------------------------------------- */

OX_API ox_sparse ox_sparse_add(const ox_sparse *a, const ox_sparse *b) {
    if (!oxi_sparse_is("sparse_add", a) || !oxi_sparse_is("sparse_add", b)) return oxi_no_sparse();
    bool same = a->shape.ndim == b->shape.ndim && oxi_sparse_dims(a) == oxi_sparse_dims(b);
    for (int d = 0; d < a->shape.ndim && same; d++) same = a->shape.dim[d] == b->shape.dim[d];
    if (!same) return oxi_sparse_fail(OX_ERR_SHAPE, "sparse_add", a->values, b->values);
    oxi_work work = oxi_work_begin("sparse_add");
    ox_sparse left = ox_sparse_to_coo(a), right = ox_sparse_to_coo(b), both = oxi_no_sparse(), sum = both;
    ox_tensor *values[2] = {left.values, right.values}, *indices[2] = {left.indices, right.indices};
    if (left.values && right.values) {
        both.values = ox_cat(values, 2, 0);
        both.indices = ox_cat(indices, 2, 1);
        both.shape = a->shape;
        if (both.values && both.indices) sum = ox_sparse_coalesce(&both);
    }
    return oxi_sparse_end(&work, sum.values, sum.indices, NULL, false, a->shape, true);
}

/* The layout of s around other values. */
static ox_sparse oxi_sparse_with(oxi_work *work, const ox_sparse *s, ox_tensor *values) {
    ox_tensor *pointers = s->pointers ? ox_view(s->pointers, ox_shape_of(s->pointers)) : NULL;
    return oxi_sparse_end(work, values, ox_view(s->indices, ox_shape_of(s->indices)), pointers,
                          s->pointers != NULL, s->shape, s->coalesced);
}

OX_API ox_sparse ox_sparse_mul_number(const ox_sparse *s, double factor) {
    if (!oxi_sparse_is("sparse_mul_number", s)) return oxi_no_sparse();
    oxi_work work = oxi_work_begin("sparse_mul_number");
    return oxi_sparse_with(&work, s, ox_mul_number(s->values, factor));
}

OX_API ox_tensor *ox_sparse_sum(const ox_sparse *s) {
    return oxi_sparse_is("sparse_sum", s) ? ox_sum(s->values, OX_ALL_DIMS, false) : NULL;
}

OX_API ox_tensor *ox_sparse_mm(const ox_sparse *s, ox_tensor *dense) {
    const char *name = "sparse_mm";
    if (oxi_any_null(name, &dense, 1) || !oxi_sparse_matrix(name, s)) return NULL;
    if (dense->ndim < 1 || dense->ndim > 2 || dense->shape[0] != s->shape.dim[1] ||
        dense->dtype != s->values->dtype)
        return OXI_FAIL_NULL(dense->dtype == s->values->dtype ? OX_ERR_SHAPE : OX_ERR_DTYPE,
                             "%s: values %s of [%lld,%lld] x %s", name, oxi_tensor_text(s->values),
                             (long long)s->shape.dim[0], (long long)s->shape.dim[1], oxi_tensor_text(dense));
    oxi_work work = oxi_work_begin(name);
    ox_sparse coo = ox_sparse_to_coo(s);
    if (!coo.values) return oxi_work_end(&work, NULL);
    ox_tensor *rows = ox_index_select(dense, 0, ox_select(coo.indices, 0, 1));
    ox_tensor *each = dense->ndim == 2 ? ox_unsqueeze(coo.values, 1) : coo.values;
    ox_shape shape = ox_shape_of(dense);
    shape.dim[0] = s->shape.dim[0];
    ox_tensor *zeros = oxi_full("zeros", shape, 0, dense->dtype, ox_device_of(dense));
    return oxi_work_end(&work, ox_index_add(zeros, 0, ox_select(coo.indices, 0, 0), ox_mul(rows, each), 1));
}

OX_API ox_tensor *ox_sparse_addmm(ox_tensor *c, const ox_sparse *s, ox_tensor *dense, double beta,
                                  double alpha) {
    if (oxi_any_null("sparse_addmm", &c, 1)) return NULL;
    oxi_work work = oxi_work_begin("sparse_addmm");
    ox_tensor *product = ox_sparse_mm(s, dense);
    if (!product) return oxi_work_end(&work, NULL);
    return oxi_onto(&work, c, product, beta, alpha);
}

OX_API ox_sparse ox_sparse_sampled_addmm(const ox_sparse *s, ox_tensor *a, ox_tensor *b, double beta,
                                         double alpha) {
    const char *name = "sparse_sampled_addmm";
    ox_tensor *both[2] = {a, b};
    if (oxi_any_null(name, both, 2) || !oxi_sparse_matrix(name, s)) return oxi_no_sparse();
    if (a->ndim != 2 || b->ndim != 2 || a->shape[0] != s->shape.dim[0] || b->shape[1] != s->shape.dim[1] ||
        a->shape[1] != b->shape[0])
        return oxi_sparse_fail(OX_ERR_SHAPE, name, a, b);
    oxi_work work = oxi_work_begin(name);
    ox_sparse coo = ox_sparse_to_coo(s);
    if (!coo.values) return oxi_sparse_with(&work, s, NULL);
    ox_tensor *rows = ox_index_select(a, 0, ox_select(coo.indices, 0, 0));
    ox_tensor *columns = ox_index_select(ox_t(b), 0, ox_select(coo.indices, 0, 1));
    ox_tensor *product = ox_mul_number(ox_sum(ox_mul(rows, columns), OX_DIMS(1), false), alpha);
    if (beta != 0) product = ox_add(ox_mul_number(s->values, beta), product);
    return oxi_sparse_with(&work, s, product);
}

/* Exponents less their largest along the other dim, and the logarithm of their sums at each value. */
static ox_sparse oxi_sparse_softmax_of(const char *name, const ox_sparse *s, int dim, bool logs) {
    if (!oxi_sparse_matrix(name, s)) return oxi_no_sparse();
    if (dim < -2 || dim > 1 || !oxi_is_float(s->values->dtype)) {
        (void)oxi_fail(OX_ERR_DIM, "%s: dim %d, values %s", name, dim, oxi_tensor_text(s->values));
        return oxi_no_sparse();
    }
    oxi_work work = oxi_work_begin(name);
    ox_sparse coo = ox_sparse_coalesce(s);
    if (!coo.values) return oxi_sparse_end(&work, NULL, NULL, NULL, false, s->shape, true);
    int other = dim == 1 || dim == -1 ? 0 : 1;
    ox_tensor *at = ox_select(coo.indices, 0, other);
    ox_tensor *zeros =
        oxi_full("zeros", OX_SHAPE(s->shape.dim[other]), 0, coo.values->dtype, ox_device_of(coo.values));
    ox_tensor *most = ox_index_reduce(zeros, 0, at, ox_detach(coo.values), OX_REDUCTION_AMAX, false);
    ox_tensor *less = ox_sub(coo.values, ox_index_select(most, 0, at));
    ox_tensor *sums = ox_index_select(ox_index_add(zeros, 0, at, ox_exp(less), 1), 0, at);
    less = ox_sub(less, ox_log(sums));
    return oxi_sparse_end(&work, logs ? less : ox_exp(less), coo.indices, NULL, false, s->shape, true);
}
OX_API ox_sparse ox_sparse_softmax(const ox_sparse *s, int dim) {
    return oxi_sparse_softmax_of("sparse_softmax", s, dim, false);
}
OX_API ox_sparse ox_sparse_log_softmax(const ox_sparse *s, int dim) {
    return oxi_sparse_softmax_of("sparse_log_softmax", s, dim, true);
}
