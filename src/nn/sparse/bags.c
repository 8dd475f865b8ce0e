/* Rows that are picked and added up: bags of embeddings, histograms of several dims. */

/* Which bag each id is in, i64 [n]: from offsets, or rows of L. */
static ox_tensor *oxi_bag_of(ox_tensor *ids, ox_tensor *offsets, int64_t each) {
    ox_tensor *ramp = oxi_ramp_beside(ids, ox_numel(ids), OX_I64);
    if (!offsets) return ox_floor_divide(ramp, ox_integer(each ? each : 1));
    return ox_sub(ox_searchsorted(ox_contiguous(ox_cast(offsets, OX_I64)), ramp, true), ox_integer(1));
}

/* Offsets begin with 0 and do not fall or leave the ids. */
static bool oxi_offsets_fit(ox_tensor *offsets, int64_t count, bool has_end) {
    ox_scope scope = ox_scope_begin();
    bool fits = offsets->ndim == 1 && oxi_is_int(offsets->dtype) && offsets->shape[0] >= has_end;
    if (fits && ox_numel(offsets)) {
        ox_tensor *wide = ox_cast(offsets, OX_I64);
        fits = ox_item_int(ox_select(wide, 0, 0)) == 0 && ox_item_int(ox_select(wide, 0, -1)) <= count &&
               ox_item_int(ox_all(ox_ge_number(ox_diff(wide, 1, 0, NULL, NULL), 0), OX_ALL_DIMS, false)) == 1;
    }
    ox_scope_end(&scope);
    if (!fits)
        (void)oxi_fail(OX_ERR_INDEX, "embedding_bag: offsets %s of %lld ids", oxi_tensor_text(offsets),
                       (long long)count);
    return fits;
}

typedef struct oxi_bags {
    ox_tensor *ids, *bag, *weights;
    int64_t count;
} oxi_bags;

/* Leaves out ids that are padding. */
static bool oxi_bags_without(oxi_bags *b, int64_t padding) {
    if (padding < 0) return b->ids && b->bag;
    ox_tensor *keep = ox_flatten(ox_nonzero(ox_ne(b->ids, ox_integer(padding))), 0, -1);
    b->ids = ox_index_select(b->ids, 0, keep);
    b->bag = ox_index_select(b->bag, 0, keep);
    if (b->weights) b->weights = ox_index_select(b->weights, 0, keep);
    return b->ids && b->bag;
}

static ox_tensor *oxi_bags_reduced(const oxi_bags *b, ox_tensor *table, char mode) {
    ox_tensor *rows = ox_embedding(b->ids, table);
    if (!rows) return NULL;
    ox_tensor *zeros =
        oxi_full("zeros", OX_SHAPE(b->count, table->shape[1]), 0, rows->dtype, ox_device_of(rows));
    if (mode == 'x') return ox_index_reduce(zeros, 0, b->bag, rows, OX_REDUCTION_AMAX, false);
    if (b->weights) rows = ox_mul(rows, ox_unsqueeze(b->weights, 1));
    ox_tensor *sums = ox_index_add(zeros, 0, b->bag, rows, 1);
    if (mode == 's') return sums;
    ox_tensor *ones = oxi_constant_beside(rows, OX_SHAPE(ox_numel(b->bag)), 1);
    ox_tensor *none = oxi_constant_beside(rows, OX_SHAPE(b->count), 0);
    ox_tensor *counts = ox_clamp(ox_index_add(none, 0, b->bag, ones, 1), 1, INFINITY);
    return ox_div(sums, ox_unsqueeze(counts, 1));
}

OX_API ox_tensor *ox_embedding_bag(ox_tensor *ids, ox_tensor *table, ox_tensor *offsets, const char *mode,
                                   ox_tensor *weights, bool has_end, int64_t padding) {
    ox_tensor *both[2] = {ids, table};
    if (oxi_any_null("embedding_bag", both, 2)) return NULL;
    char how = !mode || strcmp(mode, "mean") == 0 ? 'm'
               : strcmp(mode, "sum") == 0         ? 's'
               : strcmp(mode, "max") == 0         ? 'x'
                                                  : 0;
    if (!how || (weights && how != 's') || padding >= (table->ndim ? table->shape[0] : 0))
        return OXI_FAIL_NULL(OX_ERR_ARG, "embedding_bag: mode \"%s\"%s, padding %lld", mode ? mode : "mean",
                             weights ? " with weights" : "", (long long)padding);
    bool fits = table->ndim == 2 && (offsets ? ids->ndim == 1 : ids->ndim == 2 && !has_end) &&
                (!weights || oxi_same_sizes(weights, ids, -1));
    if (!fits)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "embedding_bag: ids %s%s of a table %s", oxi_tensor_text(ids),
                             offsets ? " with offsets" : "", oxi_tensor_text(table));
    if (!oxi_is_int(ids->dtype))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "embedding_bag: ids %s", oxi_tensor_text(ids));
    if (offsets && !oxi_offsets_fit(offsets, ids->shape[0], has_end)) return NULL;
    oxi_work work = oxi_work_begin("embedding_bag");
    oxi_bags b;
    memset(&b, 0, sizeof b);
    b.count = offsets ? offsets->shape[0] - has_end : ids->shape[0];
    ox_tensor *bag = oxi_bag_of(ids, offsets, ids->ndim == 2 ? ids->shape[1] : 0);
    b.ids = ox_flatten(ox_cast(ids, OX_I64), 0, -1);
    b.weights = weights ? ox_flatten(weights, 0, -1) : NULL;
    b.bag = bag;
    if (has_end && bag && b.ids) { /* what lies behind the end is in no bag */
        int64_t end = ox_item_int(ox_select(offsets, 0, -1));
        b.ids = ox_narrow(b.ids, 0, 0, end);
        b.bag = ox_narrow(bag, 0, 0, end);
        if (b.weights) b.weights = ox_narrow(b.weights, 0, 0, end);
    }
    return oxi_work_end(&work, oxi_bags_without(&b, padding) ? oxi_bags_reduced(&b, table, how) : NULL);
}

/* The cell along one dim of each number, and whether it is in one. */
static ox_tensor *oxi_histogram_cells(ox_tensor *x, ox_tensor *edges, ox_tensor **inside) {
    int64_t cells = edges->shape[0] - 1;
    ox_tensor *at = ox_sub(ox_searchsorted(ox_contiguous(edges), ox_contiguous(x), true), ox_integer(1));
    ox_tensor *last = ox_eq(x, ox_select(edges, 0, cells));
    at = ox_where(last, ox_integer(cells - 1), at);
    ox_tensor *own = ox_logical_and(ox_ge_number(at, 0), ox_lt_number(at, (double)cells));
    *inside = *inside ? ox_logical_and(*inside, own) : own;
    return at;
}

OX_API ox_tensor *ox_histogramdd(ox_tensor *x, ox_tensor *const *edges, int count, ox_tensor *weights,
                                 bool density) {
    if (oxi_any_null("histogramdd", &x, 1) || count < 1 || oxi_any_null("histogramdd", edges, count))
        return count < 1 && x ? OXI_FAIL_NULL(OX_ERR_ARG, "histogramdd: %d dims", count) : NULL;
    bool fits = x->ndim >= 2 && x->shape[x->ndim - 1] == count && count <= OX_MAX_DIMS;
    ox_shape shape = oxi_no_shape();
    int64_t cells = 1;
    for (int d = 0; d < count && fits; d++) {
        fits = edges[d]->ndim == 1 && edges[d]->shape[0] >= 2 && edges[d]->dtype == x->dtype &&
               cells <= INT64_MAX / edges[d]->shape[0];
        if (fits) cells *= shape.dim[shape.ndim++] = edges[d]->shape[0] - 1;
    }
    int64_t points = fits && count ? ox_numel(x) / count : 0;
    if (!fits || (weights && ox_numel(weights) != points))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "histogramdd: %d dims of edges for %s", count, oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("histogramdd");
    ox_tensor *rows = ox_reshape(x, OX_SHAPE(points, count)), *place = NULL, *inside = NULL;
    for (int d = 0; d < count; d++) {
        ox_tensor *at = oxi_histogram_cells(ox_select(rows, 1, d), edges[d], &inside);
        place = d ? ox_add(ox_mul(place, ox_integer(shape.dim[d])), at) : at;
    }
    ox_tensor *each = weights ? ox_reshape(ox_cast(weights, x->dtype), OX_SHAPE(points))
                              : oxi_constant_beside(x, OX_SHAPE(points), 1);
    each = ox_where(inside, each, ox_number(0));
    ox_tensor *zeros = oxi_constant_beside(x, OX_SHAPE(cells), 0);
    ox_tensor *sums = ox_index_add(zeros, 0, ox_where(inside, place, ox_integer(0)), each, 1);
    sums = ox_reshape(sums, shape);
    if (density) sums = ox_div(sums, ox_sum(sums, OX_ALL_DIMS, false));
    for (int d = 0; d < count && density && sums; d++) {
        ox_shape along = shape;
        for (int e = 0; e < count; e++)
            if (e != d) along.dim[e] = 1;
        sums = ox_div(sums, ox_reshape(ox_diff(edges[d], 1, 0, NULL, NULL), along));
    }
    return oxi_work_end(&work, sums);
}
