/* Functions that are made of others: quantiles, differences, integrals, covariance, distances. */

/* ---- moments ------------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_nanmean(ox_tensor *x, ox_shape dims, bool keepdim) {
    if (oxi_any_null("nanmean", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("nanmean");
    ox_tensor *known = ox_sum(ox_logical_not(ox_isnan(x)), dims, keepdim);
    return oxi_work_end(&work, ox_div(ox_nansum(x, dims, keepdim), known));
}

/* x [variables, observations]; weights NULL, or [observations]. */
static ox_tensor *oxi_covariance(ox_tensor *x, double correction, ox_tensor *counts, ox_tensor *weights) {
    ox_tensor *each = counts, *factor, *mean;
    if (weights) each = counts ? ox_mul(counts, weights) : weights;
    ox_tensor *total = each ? ox_sum(each, OX_ALL_DIMS, false) : ox_number((double)x->shape[1]);
    mean = each ? ox_div(ox_sum(ox_mul(x, each), OX_DIMS(1), true), total) : ox_mean(x, OX_DIMS(1), true);
    if (weights && correction != 0) {
        ox_tensor *squares = ox_sum(ox_mul(each, weights), OX_ALL_DIMS, false);
        factor = ox_sub(total, ox_div(ox_mul_number(squares, correction), total));
    } else
        factor = ox_sub_number(total, correction);
    factor = ox_clamp(oxi_as_float(factor), 0, INFINITY);
    ox_tensor *apart = ox_sub(x, mean);
    ox_tensor *other = each ? ox_mul(apart, each) : apart;
    if (x->dtype == OX_C64) other = ox_conj(other);
    return ox_div(ox_matmul(apart, ox_t(ox_cast(other, apart ? apart->dtype : OX_F32))), factor);
}

OX_API ox_tensor *ox_cov(ox_tensor *x, int64_t correction, ox_tensor *counts, ox_tensor *weights) {
    if (oxi_any_null("cov", &x, 1)) return NULL;
    if (x->ndim > 2) return OXI_FAIL_NULL(OX_ERR_SHAPE, "cov: %s has more than 2 dims", oxi_tensor_text(x));
    int64_t each = x->ndim ? x->shape[x->ndim - 1] : 1;
    if ((counts && (ox_numel(counts) != each || oxi_info(counts->dtype)->cls >= OX_CLASS_FLOAT)) ||
        (weights && ox_numel(weights) != each))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "cov: not an integer count, or a weight, an observation");
    oxi_work work = oxi_work_begin("cov");
    ox_tensor *lines = oxi_as_float(x->ndim == 2 ? x : ox_reshape(x, OX_SHAPE(1, -1)));
    ox_tensor *made = lines ? oxi_covariance(lines, (double)correction, counts, weights) : NULL;
    return oxi_work_end(&work, lines && lines->shape[0] == 1 ? ox_reshape(made, OX_ALL_DIMS) : made);
}

OX_API ox_tensor *ox_corrcoef(ox_tensor *x) {
    if (oxi_any_null("corrcoef", &x, 1)) return NULL;
    if (x->ndim > 2)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "corrcoef: %s has more than 2 dims", oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("corrcoef");
    ox_tensor *c = ox_cov(x, 1, NULL, NULL);
    if (c && c->ndim == 0) return oxi_work_end(&work, ox_div(c, c));
    ox_tensor *size = ox_sqrt(ox_diagonal(c && c->dtype == OX_C64 ? ox_real(c) : c, 0, 0, 1));
    c = ox_div(ox_div(c, ox_unsqueeze(size, 1)), ox_unsqueeze(size, 0));
    return oxi_work_end(&work, c && c->dtype != OX_C64 ? ox_clamp(c, -1, 1) : c);
}

/* ---- quantiles ----------------------------------------------------------------------------------------- */

/* Element `place` (floats, broadcast along `at`) of sorted lines, between two by `how`. */
static ox_tensor *oxi_between_elements(ox_tensor *sorted, ox_tensor *place, int at, const char *how) {
    ox_tensor *below = ox_floor(place), *above = ox_ceil(place), *share = ox_sub(place, below);
    if (strcmp(how, "lower") == 0) above = below;
    if (strcmp(how, "higher") == 0) below = above;
    if (strcmp(how, "nearest") == 0) below = above = ox_round(place);
    ox_tensor *a = ox_gather(sorted, at, ox_cast(below, OX_I64));
    if (below == above) return a;
    ox_tensor *b = ox_gather(sorted, at, ox_cast(above, OX_I64));
    if (strcmp(how, "midpoint") == 0) share = ox_full_like(share, 0.5);
    return ox_lerp(a, b, ox_cast(share, sorted->dtype));
}

static ox_tensor *oxi_quantile(const char *name, ox_tensor *x, ox_tensor *q, int dim, bool keepdim,
                               const char *how, bool skips) {
    static const char *const known[] = {"linear", "lower", "higher", "nearest", "midpoint"};
    ox_tensor *in[2] = {x, q};
    int at, ndim, listed = 0;
    if (oxi_any_null(name, in, 2)) return NULL;
    if (!how) how = known[0];
    for (int i = 0; i < 5; i++) listed += strcmp(how, known[i]) == 0;
    ndim = x->ndim;
    if (!listed || q->ndim > 1 || !oxi_is_float(x->dtype))
        return OXI_FAIL_NULL(OX_ERR_ARG, "%s: %s at %s, \"%s\"", name, oxi_tensor_text(x), oxi_tensor_text(q),
                             how);
    oxi_work work = oxi_work_begin(name);
    if (!oxi_lines(name, &x, dim, &at)) return oxi_work_end(&work, NULL);
    int64_t size = x->shape[at];
    if (size == 0) {
        (void)oxi_fail(OX_ERR_SHAPE, "%s: of lines without elements: %s", name, oxi_tensor_text(x));
        return oxi_work_end(&work, NULL);
    }
    ox_tensor *sorted = ox_movedim(ox_sort(x, at, false).values, at, -1);
    ox_tensor *nan = ox_isnan(sorted), *last;
    ox_tensor *count = ox_sum(ox_logical_not(nan), OX_DIMS(-1), true);
    if (skips)
        last = ox_clamp(ox_sub(count, ox_integer(1)), 0, INFINITY);
    else
        last = ox_full_like(count, (double)(size - 1));
    ox_tensor *points = ox_reshape(ox_cast(q, x->dtype), OX_SHAPE(-1));
    ox_tensor *made = oxi_between_elements(sorted, ox_mul(ox_cast(last, x->dtype), points), -1, how);
    ox_tensor *none = skips ? ox_eq_number(count, 0) : ox_any(nan, OX_DIMS(-1), true);
    made = ox_movedim(ox_where(none, ox_number(NAN), made), -1, 0); /* [q, the other dims] */
    if (made && keepdim && dim != OX_FLATTENED && ndim) made = ox_unsqueeze(made, at + 1);
    if (made && (dim == OX_FLATTENED || ndim == 0)) {
        ox_shape shape = oxi_no_shape();
        shape.ndim = 1 + (keepdim && dim == OX_FLATTENED ? ndim : 0);
        for (int d = 0; d < shape.ndim; d++) shape.dim[d] = d ? 1 : ox_numel(q);
        made = ox_reshape(made, shape);
    }
    return oxi_work_end(&work, q->ndim ? ox_contiguous(made) : ox_contiguous(ox_select(made, 0, 0)));
}
OX_API ox_tensor *ox_quantile(ox_tensor *x, ox_tensor *q, int dim, bool keepdim, const char *interpolation) {
    return oxi_quantile("quantile", x, q, dim, keepdim, interpolation, false);
}
OX_API ox_tensor *ox_nanquantile(ox_tensor *x, ox_tensor *q, int dim, bool keepdim,
                                 const char *interpolation) {
    return oxi_quantile("nanquantile", x, q, dim, keepdim, interpolation, true);
}

/* ---- differences and integrals ------------------------------------------------------------------------- */

OX_API ox_tensor *ox_diff(ox_tensor *x, int64_t times, int dim, ox_tensor *before, ox_tensor *after) {
    if (oxi_any_null("diff", &x, 1)) return NULL;
    int at = x->ndim ? oxi_own_dim("diff", x, dim) : oxi_wrap_dim("diff", dim, 0);
    if (at < 0) return NULL;
    if (x->ndim == 0 || times < 0)
        return OXI_FAIL_NULL(OX_ERR_ARG, "diff: %lld times, of %s", (long long)times, oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("diff");
    ox_tensor *parts[3], *line = x;
    int count = 0;
    if (before && times) parts[count++] = before;
    parts[count++] = x;
    if (after && times) parts[count++] = after;
    if (count > 1) line = ox_cat(parts, count, at);
    if (line && times == 0) line = ox_clone(line);
    for (int64_t i = 0; line && i < times; i++) {
        int64_t size = line->shape[at], rest = size > 0 ? size - 1 : 0;
        ox_tensor *late = ox_narrow(line, at, size - rest, rest), *early = ox_narrow(line, at, 0, rest);
        line = x->dtype == OX_BOOL ? ox_logical_xor(late, early) : ox_sub(late, early);
        if (rest == 0) break;
    }
    return oxi_work_end(&work, line);
}

/* Along one dim: differences of neighbors, of second order inside. spacing: NULL for 1, a number, or the
 * places [n]. */
OX_API ox_tensor *ox_gradient_along(ox_tensor *x, ox_tensor *spacing, int dim, int edge_order) {
    if (oxi_any_null("gradient_along", &x, 1)) return NULL;
    int at = oxi_own_dim("gradient_along", x, dim);
    if (at < 0) return NULL;
    int64_t n = x->shape[at];
    if ((edge_order != 1 && edge_order != 2) || n < edge_order + 1 ||
        (spacing && spacing->ndim > 0 && (spacing->ndim != 1 || spacing->shape[0] != n)))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "gradient_along: dim %d of %s with edges of order %d", at,
                             oxi_tensor_text(x), edge_order);
    oxi_work work = oxi_work_begin("gradient_along");
    ox_shape wide = oxi_no_shape();
    wide.ndim = x->ndim;
    for (int d = 0; d < x->ndim; d++) wide.dim[d] = d == at ? -1 : 1;
    bool even = !spacing || spacing->ndim == 0;
    ox_tensor *one = spacing && even ? spacing : ox_number(1);
    ox_tensor *gaps = even ? NULL : ox_reshape(ox_diff(spacing, 1, 0, NULL, NULL), wide), *parts[3];
    ox_tensor *rise = ox_diff(oxi_as_float(x), 1, at, NULL, NULL);
    ox_tensor *slope = ox_div(rise, even ? one : gaps); /* n - 1 of them */
    if (!slope) return oxi_work_end(&work, NULL);
    ox_tensor *left = ox_narrow(slope, at, 0, n - 2), *right = ox_narrow(slope, at, 1, n - 2);
    if (even)
        parts[1] = ox_mul_number(ox_add(left, right), 0.5);
    else {
        ox_tensor *g = ox_narrow(gaps, at, 0, n - 2), *h = ox_narrow(gaps, at, 1, n - 2);
        parts[1] = ox_div(ox_add(ox_mul(left, h), ox_mul(right, g)), ox_add(g, h));
    }
    parts[0] = ox_narrow(slope, at, 0, 1);
    parts[2] = ox_narrow(slope, at, n - 2, 1);
    if (edge_order == 2 && even) {
        parts[0] = ox_sub(ox_mul_number(parts[0], 1.5), ox_mul_number(ox_narrow(slope, at, 1, 1), 0.5));
        parts[2] = ox_sub(ox_mul_number(parts[2], 1.5), ox_mul_number(ox_narrow(slope, at, n - 3, 1), 0.5));
    } else if (edge_order == 2) {
        ox_tensor *g0 = ox_narrow(gaps, at, 0, 1), *g1 = ox_narrow(gaps, at, 1, 1);
        ox_tensor *h0 = ox_narrow(gaps, at, n - 2, 1), *h1 = ox_narrow(gaps, at, n - 3, 1);
        ox_tensor *bend0 = ox_sub(ox_narrow(slope, at, 1, 1), parts[0]);
        ox_tensor *bend1 = ox_sub(parts[2], ox_narrow(slope, at, n - 3, 1));
        parts[0] = ox_sub(parts[0], ox_mul(bend0, ox_div(g0, ox_add(g0, g1))));
        parts[2] = ox_add(parts[2], ox_mul(bend1, ox_div(h0, ox_add(h0, h1))));
    }
    return oxi_work_end(&work, ox_cat(parts, 3, at));
}

/* Areas between neighbors along *at: y between places x, or dx apart. */
static ox_tensor *oxi_areas(const char *name, ox_tensor *y, ox_tensor *x, double dx, int dim, int *at) {
    *at = oxi_own_dim(name, y, dim);
    if (*at < 0) return NULL;
    int64_t n = y->shape[*at], rest = n > 0 ? n - 1 : 0;
    ox_tensor *sums = ox_add(ox_narrow(y, *at, n - rest, rest), ox_narrow(y, *at, 0, rest));
    if (!x) return ox_mul_number(sums, dx / 2);
    ox_shape wide = oxi_no_shape();
    wide.ndim = y->ndim;
    for (int d = 0; d < y->ndim; d++) wide.dim[d] = d == *at ? -1 : 1;
    if (x->ndim == 1) x = ox_reshape(x, wide);
    int places = *at - y->ndim; /* counted from the end: x may have fewer dims */
    if (!x || x->ndim < -places)
        return x ? OXI_FAIL_NULL(OX_ERR_SHAPE, "%s: places %s of %s", name, oxi_tensor_text(x),
                                 oxi_tensor_text(y))
                 : NULL;
    int64_t known = x->shape[x->ndim + places];
    ox_tensor *widths = known == 1 ? ox_zeros_like(x) : ox_diff(x, 1, places, NULL, NULL);
    return ox_mul_number(ox_mul(sums, widths), 0.5);
}
OX_API ox_tensor *ox_trapezoid(ox_tensor *y, ox_tensor *x, double dx, int dim) {
    int at;
    if (oxi_any_null("trapezoid", &y, 1)) return NULL;
    oxi_work work = oxi_work_begin("trapezoid");
    ox_tensor *areas = oxi_areas("trapezoid", y, x, dx, dim, &at);
    return oxi_work_end(&work, areas ? ox_sum(areas, OX_DIMS(at - y->ndim), false) : NULL);
}
OX_API ox_tensor *ox_cumulative_trapezoid(ox_tensor *y, ox_tensor *x, double dx, int dim) {
    int at;
    if (oxi_any_null("cumulative_trapezoid", &y, 1)) return NULL;
    oxi_work work = oxi_work_begin("cumulative_trapezoid");
    ox_tensor *areas = oxi_areas("cumulative_trapezoid", y, x, dx, dim, &at);
    return oxi_work_end(&work, areas ? ox_cumsum(areas, at - y->ndim) : NULL);
}

/* ---- distances ----------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_dist(ox_tensor *a, ox_tensor *b, double p) {
    ox_tensor *in[2] = {a, b};
    if (oxi_any_null("dist", in, 2)) return NULL;
    oxi_work work = oxi_work_begin("dist");
    return oxi_work_end(&work, ox_norm(ox_sub(a, b), p, OX_ALL_DIMS, false));
}

OX_API ox_tensor *ox_cdist(ox_tensor *a, ox_tensor *b, double p) {
    ox_tensor *in[2] = {a, b};
    if (oxi_any_null("cdist", in, 2)) return NULL;
    if (a->ndim < 2 || b->ndim < 2 || a->shape[a->ndim - 1] != b->shape[b->ndim - 1] || !(p >= 0))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "cdist: %s and %s, p %g", oxi_tensor_text(a), oxi_tensor_text(b),
                             p);
    oxi_work work = oxi_work_begin("cdist");
    ox_tensor *apart = ox_sub(ox_unsqueeze(a, -2), ox_unsqueeze(b, -3));
    if (apart && apart->shape[apart->ndim - 1] == 0)
        return oxi_work_end(&work, ox_sum(apart, OX_DIMS(-1), false));
    return oxi_work_end(&work, ox_norm(apart, p, OX_DIMS(-1), false));
}

OX_API ox_tensor *ox_pdist(ox_tensor *x, double p) {
    if (oxi_any_null("pdist", &x, 1)) return NULL;
    if (x->ndim != 2 || !(p >= 0))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "pdist: %s, p %g", oxi_tensor_text(x), p);
    oxi_work work = oxi_work_begin("pdist");
    ox_tensor *pairs = ox_triu_indices(x->shape[0], x->shape[0], 1);
    if (pairs) pairs = ox_to(pairs, oxi_working_device(ox_device_of(x)));
    ox_tensor *apart =
        ox_sub(ox_index_select(x, 0, ox_select(pairs, 0, 0)), ox_index_select(x, 0, ox_select(pairs, 0, 1)));
    if (apart && x->shape[1] == 0) return oxi_work_end(&work, ox_sum(apart, OX_DIMS(-1), false));
    return oxi_work_end(&work, ox_norm(apart, p, OX_DIMS(-1), false));
}

OX_API ox_tensor *ox_renorm(ox_tensor *x, double p, int dim, double most) {
    if (oxi_any_null("renorm", &x, 1)) return NULL;
    int at = oxi_own_dim("renorm", x, dim);
    if (at < 0) return NULL;
    if (!(p > 0) || !(most >= 0) || x->ndim < 2)
        return OXI_FAIL_NULL(OX_ERR_ARG, "renorm: %s, p %g, at most %g", oxi_tensor_text(x), p, most);
    oxi_work work = oxi_work_begin("renorm");
    ox_tensor *size = ox_norm(x, p, oxi_dims_of_set(((1u << x->ndim) - 1) & ~(1u << at)), true);
    ox_tensor *factor = ox_rdiv_number(ox_add_number(size, 1e-7), most);
    return oxi_work_end(&work, ox_mul(x, ox_where(ox_gt_number(size, most), factor, ox_number(1))));
}

OX_API ox_tensor *ox_normalize(ox_tensor *x, double p, int dim, double eps) {
    if (oxi_any_null("normalize", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("normalize");
    ox_tensor *size = ox_norm(x, p, x->ndim ? OX_DIMS(dim) : OX_ALL_DIMS, true);
    return oxi_work_end(&work, ox_div(x, ox_clamp(size, eps, INFINITY)));
}
