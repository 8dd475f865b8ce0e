/* Elements that are taken and put by several indices: x[i, :, j]. */

/* index with negative ones counted from `size`. */
static ox_tensor *oxi_wrapped_index(ox_tensor *index, int64_t size) {
    index = ox_cast(index, OX_I64);
    return ox_where(ox_lt_number(index, 0), ox_add(index, ox_integer(size)), index);
}

/* An index for one dim of `shape`'s, as it stands in every line along that dim: [1 .. n .. 1] expanded. */
static ox_tensor *oxi_index_along(ox_tensor *index, ox_shape shape, int dim) {
    ox_shape own = shape;
    for (int d = 0; d < shape.ndim; d++) own.dim[d] = d == dim ? -1 : 1;
    shape.dim[dim] = ox_numel(index);
    return ox_expand(ox_reshape(index, own), shape);
}

/* ---- along one dim ------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_index_copy(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source) {
    ox_tensor *in[3] = {x, index, source};
    if (oxi_any_null("index_copy", in, 3)) return NULL;
    oxi_work work = oxi_work_begin("index_copy");
    if (x->ndim == 0) return oxi_work_end(&work, ox_reshape(ox_clone(source), ox_shape_of(x)));
    int at = oxi_own_dim("index_copy", x, dim);
    if (at < 0) return oxi_work_end(&work, NULL);
    if (source->ndim == 0) source = ox_reshape(source, OX_SHAPE(1));
    ox_tensor *places = oxi_index_along(ox_cast(index, OX_I64), ox_shape_of(source), at);
    return oxi_work_end(&work, ox_scatter(x, at, places, source));
}

/* ---- several indices at once: x[i, :, j] --------------------------------------------------------------- */

/* Index tensors of the leading dims of x as one: `place` in the flattened indexed dims, which come first in
 * `front`; where the result has them. */
typedef struct oxi_indexed_dims {
    ox_tensor *front, *place;        /* [prod of indexed][rest ..]; flat, of the broadcast shape */
    ox_shape broadcast, rest, order; /* order: dims of x as front had them */
    int at;                          /* the first dim of the broadcast shape in the result */
} oxi_indexed_dims;

/* Masks become the indices of what they have. `list` gets at most OX_MAX_DIMS of them; their count or -1. */
static int oxi_plain_indices(const char *name, ox_tensor *x, ox_tensor *const *given, int count,
                             ox_tensor **list) {
    int used = 0;
    for (int i = 0; i < count; i++) {
        ox_tensor *t = given[i];
        bool mask = t && (t->dtype == OX_BOOL || t->dtype == OX_U8);
        int takes = mask ? t->ndim : 1;
        if (used + takes > x->ndim) {
            (void)oxi_fail(OX_ERR_DIM, "%s: more indices than dims of %s", name, oxi_tensor_text(x));
            return -1;
        }
        if (!mask) list[used++] = t;
        ox_tensor *places = mask ? ox_nonzero(t) : NULL;
        for (int d = 0; d < takes && mask; d++) {
            if (t->shape[d] != x->shape[used]) {
                (void)oxi_fail(OX_ERR_SHAPE, "%s: the mask %s does not fit %s", name, oxi_tensor_text(t),
                               oxi_tensor_text(x));
                return -1;
            }
            list[used++] = ox_select(places, 1, d);
            if (!list[used - 1]) return -1;
        }
    }
    return used;
}

static bool oxi_index_dims(const char *name, ox_tensor *x, ox_tensor *const *given, int count,
                           oxi_indexed_dims *out) {
    ox_tensor *list[OX_MAX_DIMS], *few[OX_MAX_DIMS];
    int used = oxi_plain_indices(name, x, given, count, list), first = -1, last = -1, indexed = 0;
    if (used < 0) return false;
    memset(out, 0, sizeof *out);
    for (int d = 0; d < used; d++) {
        if (!list[d]) continue;
        if (first < 0) first = d;
        last = d;
        few[indexed] = list[d];
        out->order.dim[indexed++] = d;
    }
    if (indexed == 0) {
        (void)oxi_fail(OX_ERR_ARG, "%s: no index", name);
        return false;
    }
    if (!oxi_common_shape(name, few, indexed, &out->broadcast)) return false;
    out->at = last - first + 1 == indexed ? first : 0;
    int64_t room = 1;
    for (int i = 0; i < indexed; i++) {
        int64_t size = x->shape[out->order.dim[i]];
        ox_tensor *own = ox_expand(oxi_wrapped_index(few[i], size), out->broadcast);
        if (own && ox_numel(own)) {
            ox_tensor *beyond = ox_logical_or(ox_lt_number(own, 0), ox_ge(own, ox_integer(size)));
            if (ox_item_int(ox_any(beyond, OX_ALL_DIMS, false))) {
                (void)oxi_fail(OX_ERR_INDEX, "%s: an index is out of range for dim %d of %s", name,
                               (int)out->order.dim[i], oxi_tensor_text(x));
                return false;
            }
        }
        out->place = i ? ox_add(ox_mul(out->place, ox_integer(size)), own) : own;
        room *= size;
    }
    out->place = ox_reshape(out->place, OX_SHAPE(-1));
    out->order.ndim = x->ndim;
    out->rest.ndim = x->ndim - indexed;
    for (int d = 0, to = 0; d < x->ndim; d++) {
        if (d < used && list[d]) continue;
        out->order.dim[indexed + to] = d;
        out->rest.dim[to++] = x->shape[d];
    }
    ox_shape flat = out->rest;
    flat.ndim++;
    for (int d = flat.ndim - 1; d > 0; d--) flat.dim[d] = flat.dim[d - 1];
    flat.dim[0] = room;
    out->front = ox_reshape(ox_permute(x, out->order), flat);
    return out->front && out->place;
}

/* The shape of x[indices]: the dims before `at`, the broadcast ones, the rest. */
static ox_shape oxi_indexed_shape(const oxi_indexed_dims *i) {
    ox_shape shape = oxi_no_shape();
    for (int d = 0; d < i->at; d++) shape.dim[shape.ndim++] = i->rest.dim[d];
    for (int d = 0; d < i->broadcast.ndim && shape.ndim < OX_MAX_DIMS; d++)
        shape.dim[shape.ndim++] = i->broadcast.dim[d];
    for (int d = i->at; d < i->rest.ndim && shape.ndim < OX_MAX_DIMS; d++)
        shape.dim[shape.ndim++] = i->rest.dim[d];
    return shape;
}

/* The dims of a result [broadcast .., rest ..] in x[indices]'s order, or back. */
static ox_shape oxi_indexed_order(const oxi_indexed_dims *i, bool back) {
    ox_shape order = oxi_no_shape();
    int wide = i->broadcast.ndim;
    order.ndim = wide + i->rest.ndim;
    for (int d = 0; d < order.ndim; d++) {
        int from = d < i->at ? wide + d : d < i->at + wide ? d - i->at : d;
        order.dim[back ? from : d] = back ? d : from;
    }
    return order;
}

OX_API ox_tensor *ox_index(ox_tensor *x, ox_tensor *const *indices, int count) {
    oxi_indexed_dims i;
    if (oxi_any_null("index", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("index");
    if (!oxi_index_dims("index", x, indices, count, &i)) return oxi_work_end(&work, NULL);
    ox_tensor *rows = ox_index_select(i.front, 0, i.place);
    ox_shape shape = i.broadcast;
    if (shape.ndim + i.rest.ndim > OX_MAX_DIMS) {
        (void)oxi_fail(OX_ERR_SHAPE, "index: more than %d dims", OX_MAX_DIMS);
        return oxi_work_end(&work, NULL);
    }
    for (int d = 0; d < i.rest.ndim; d++) shape.dim[shape.ndim++] = i.rest.dim[d];
    rows = ox_reshape(rows, shape);
    return oxi_work_end(&work, i.at ? ox_contiguous(ox_permute(rows, oxi_indexed_order(&i, false))) : rows);
}

OX_API ox_tensor *ox_index_put(ox_tensor *x, ox_tensor *const *indices, int count, ox_tensor *values,
                               bool accumulate) {
    ox_tensor *in[2] = {x, values};
    oxi_indexed_dims i;
    if (oxi_any_null("index_put", in, 2)) return NULL;
    oxi_work work = oxi_work_begin("index_put");
    if (!oxi_index_dims("index_put", x, indices, count, &i)) return oxi_work_end(&work, NULL);
    values =
        ox_permute(ox_expand(ox_cast(values, x->dtype), oxi_indexed_shape(&i)), oxi_indexed_order(&i, true));
    if (!values) return oxi_work_end(&work, NULL);
    ox_shape flat = ox_shape_of(i.front), was = oxi_no_shape(), back = oxi_no_shape();
    flat.dim[0] = ox_numel(i.place);
    values = ox_reshape(values, flat);
    ox_tensor *made = accumulate ? ox_index_add(i.front, 0, i.place, values, 1)
                                 : ox_index_copy(i.front, 0, i.place, values);
    was.ndim = back.ndim = x->ndim;
    for (int d = 0; d < x->ndim; d++) was.dim[d] = x->shape[i.order.dim[d]];
    for (int d = 0; d < x->ndim; d++) back.dim[i.order.dim[d]] = d;
    return oxi_work_end(&work, ox_contiguous(ox_permute(ox_reshape(made, was), back)));
}
