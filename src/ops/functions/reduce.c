/* The public reductions, scans, sorts and choices along a dim. */

/* attr: what else the op is told; all sets of reductions begin with dims and keepdim. */
static ox_tensor *oxi_call_reduce(oxi_op op, oxi_attrs attr, ox_tensor *x, ox_shape dims, bool keepdim) {
    if (oxi_any_null(oxi_op_row_of(op)->name, &x, 1) ||
        !oxi_dim_set(oxi_op_row_of(op)->name, x, &dims, &attr.reduce.dims))
        return NULL;
    if (dims.ndim == 0) attr.reduce.dims = (1u << x->ndim) - 1;
    attr.reduce.keepdim = keepdim;
    return oxi_apply_1(op, &attr, x);
}

static ox_tensor *oxi_plain_reduce(oxi_op op, ox_tensor *x, ox_shape dims, bool keepdim) {
    return oxi_call_reduce(op, oxi_attrs_reduce(), x, dims, keepdim);
}

#define OXI_X(name)                                                              \
    OX_API ox_tensor *ox_##name(ox_tensor *x, ox_shape dims, bool keepdim) {     \
        return oxi_plain_reduce(OXI_OP_##name, x, dims, keepdim);                \
    }
OX_REDUCE_DIMS(OXI_X)
#undef OXI_X
OX_API ox_tensor *ox_sum(ox_tensor *x, ox_shape dims, bool keepdim) {
    return oxi_plain_reduce(OXI_OP_sum, x, dims, keepdim);
}
OX_API ox_tensor *ox_mean(ox_tensor *x, ox_shape dims, bool keepdim) {
    return oxi_plain_reduce(OXI_OP_mean, x, dims, keepdim);
}
OX_API ox_tensor *ox_prod(ox_tensor *x, ox_shape dims, bool keepdim) {
    return oxi_plain_reduce(OXI_OP_prod, x, dims, keepdim);
}

/* Of x as `dtype`, which the op computes in. Integers add up to i64, whose low bits are those of a sum in a
 * narrower type. */
static ox_tensor *oxi_reduce_as(const char *name, oxi_op op, ox_tensor *x, ox_shape dims, bool keepdim,
                                ox_dtype dtype) {
    oxi_work work = oxi_work_begin(name);
    ox_tensor *result = oxi_plain_reduce(op, dtype ? ox_cast(x, dtype) : x, dims, keepdim);
    return oxi_work_end(&work, result && dtype ? ox_cast(result, dtype) : result);
}
OX_API ox_tensor *ox_sum_as(ox_tensor *x, ox_shape dims, bool keepdim, ox_dtype dtype) {
    return oxi_reduce_as("sum_as", OXI_OP_sum, x, dims, keepdim, dtype);
}
OX_API ox_tensor *ox_mean_as(ox_tensor *x, ox_shape dims, bool keepdim, ox_dtype dtype) {
    return oxi_reduce_as("mean_as", OXI_OP_mean, x, dims, keepdim, dtype);
}
OX_API ox_tensor *ox_prod_as(ox_tensor *x, ox_shape dims, bool keepdim, ox_dtype dtype) {
    return oxi_reduce_as("prod_as", OXI_OP_prod, x, dims, keepdim, dtype);
}
OX_API ox_tensor *ox_count_nonzero(ox_tensor *x, ox_shape dims) {
    return oxi_plain_reduce(OXI_OP_count_nonzero, x, dims, false);
}
OX_API ox_tensor *ox_norm(ox_tensor *x, double p, ox_shape dims, bool keepdim) {
    oxi_attrs attr = oxi_attrs_power();
    attr.power.p = p;
    return oxi_call_reduce(OXI_OP_norm, attr, x, dims, keepdim);
}

static ox_tensor *oxi_moments(oxi_op op, ox_tensor *x, ox_shape dims, double correction, bool keepdim) {
    oxi_attrs attr = oxi_attrs_moments();
    attr.moments.correction = correction;
    if (!x || x->dtype != OX_C64) return oxi_call_reduce(op, attr, x, dims, keepdim);
    oxi_work work = oxi_work_begin(op == OXI_OP_var ? "var" : "std"); /* the parts' variances, added */
    ox_tensor *both = ox_add(oxi_moments(OXI_OP_var, ox_real(x), dims, correction, keepdim),
                             oxi_moments(OXI_OP_var, ox_imag(x), dims, correction, keepdim));
    return oxi_work_end(&work, op == OXI_OP_var ? both : ox_sqrt(both));
}
OX_API ox_tensor *ox_var(ox_tensor *x, ox_shape dims, double correction, bool keepdim) {
    return oxi_moments(OXI_OP_var, x, dims, correction, keepdim);
}
OX_API ox_tensor *ox_std(ox_tensor *x, ox_shape dims, double correction, bool keepdim) {
    return oxi_moments(OXI_OP_std, x, dims, correction, keepdim);
}

static ox_tensor *oxi_arg_reduce(oxi_op op, ox_tensor *x, int dim, bool keepdim) {
    return oxi_plain_reduce(op, x, dim == OX_FLATTENED ? OX_ALL_DIMS : OX_DIMS(dim), keepdim);
}
OX_API ox_tensor *ox_argmax(ox_tensor *x, int dim, bool keepdim) {
    return oxi_arg_reduce(OXI_OP_argmax, x, dim, keepdim);
}
OX_API ox_tensor *ox_argmin(ox_tensor *x, int dim, bool keepdim) {
    return oxi_arg_reduce(OXI_OP_argmin, x, dim, keepdim);
}

/* ---- ops along one dim --------------------------------------------------------------------------------- */

/* The dim as it counts from 0; -1 and an error where there is none, or no x. */
static int oxi_one_dim(const char *name, ox_tensor *x, int dim) {
    return oxi_any_null(name, &x, 1) ? -1 : oxi_wrap_dim(name, dim, x->ndim);
}

static ox_pair oxi_apply_pair(const char *name, oxi_op op, const oxi_attrs *attr, ox_tensor *x) {
    oxi_call call = oxi_call_of(op, &x, 1, NULL);
    ox_pair pair = {NULL, NULL};
    call.attr = *attr;
    call.name = name;
    if (oxi_apply(&call) != OX_OK) return pair;
    pair.values = call.out[0];
    pair.indices = call.out[1];
    return pair;
}

static ox_pair oxi_no_pair(void) {
    ox_pair pair = {NULL, NULL};
    return pair;
}

static ox_pair oxi_extreme(const char *name, oxi_op op, ox_tensor *x, int dim, bool keepdim) {
    oxi_attrs attr = oxi_attrs_reduce();
    int at = oxi_one_dim(name, x, dim);
    if (at < 0) return oxi_no_pair();
    attr.reduce.dims = x->ndim ? 1u << at : 0;
    attr.reduce.keepdim = keepdim;
    return oxi_apply_pair(name, op, &attr, x);
}
OX_API ox_pair ox_max(ox_tensor *x, int dim, bool keepdim) {
    return oxi_extreme("max", OXI_OP_max_dim, x, dim, keepdim);
}
OX_API ox_pair ox_min(ox_tensor *x, int dim, bool keepdim) {
    return oxi_extreme("min", OXI_OP_min_dim, x, dim, keepdim);
}

static ox_pair oxi_sorted(const char *name, ox_tensor *x, int dim, bool descending) {
    oxi_attrs attr = oxi_attrs_sort();
    attr.sort.dim = oxi_one_dim(name, x, dim);
    attr.sort.descending = descending;
    return attr.sort.dim < 0 ? oxi_no_pair() : oxi_apply_pair(name, OXI_OP_sort, &attr, x);
}
OX_API ox_pair ox_sort(ox_tensor *x, int dim, bool descending) {
    return oxi_sorted("sort", x, dim, descending);
}

OX_API ox_tensor *ox_argsort(ox_tensor *x, int dim, bool descending) {
    ox_pair sorted = oxi_sorted("argsort", x, dim, descending);
    ox_release(sorted.values);
    return sorted.indices;
}

OX_API ox_pair ox_topk(ox_tensor *x, int64_t k, int dim, bool largest) {
    oxi_attrs attr = oxi_attrs_topk();
    attr.topk.dim = oxi_one_dim("topk", x, dim);
    attr.topk.k = k;
    attr.topk.largest = largest;
    return attr.topk.dim < 0 ? oxi_no_pair() : oxi_apply_pair("topk", OXI_OP_topk, &attr, x);
}

static ox_tensor *oxi_along(oxi_op op, ox_tensor *x, int dim, bool in_place) {
    oxi_attrs attr = oxi_attrs_along();
    const char *name = oxi_op_row_of(op)->name;
    bool speaks = oxi_speak_for(name, in_place);
    ox_tensor *result = NULL;
    attr.along.dim = oxi_one_dim(name, x, dim);
    if (attr.along.dim >= 0) result = oxi_apply_list(op, &attr, &x, 1, in_place ? x : NULL);
    oxi_speak_end(speaks);
    return result;
}
OX_API ox_tensor *ox_cumsum(ox_tensor *x, int dim) {
    return oxi_along(OXI_OP_cumsum, x, dim, false);
}
OX_API ox_tensor *ox_cumprod(ox_tensor *x, int dim) {
    return oxi_along(OXI_OP_cumprod, x, dim, false);
}
OX_API ox_tensor *ox_cumsum_(ox_tensor *x, int dim) {
    return oxi_along(OXI_OP_cumsum, x, dim, true);
}
OX_API ox_tensor *ox_cumprod_(ox_tensor *x, int dim) {
    return oxi_along(OXI_OP_cumprod, x, dim, true);
}

static ox_tensor *oxi_along_as(const char *name, oxi_op op, ox_tensor *x, int dim, ox_dtype dtype) {
    if (dtype == OX_BOOL && !oxi_any_null(name, &x, 1))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "%s: not defined for bool", name);
    oxi_work work = oxi_work_begin(name);
    ox_tensor *result = oxi_along(op, dtype ? ox_cast(x, dtype) : x, dim, false);
    return oxi_work_end(&work, result && dtype ? ox_cast(result, dtype) : result);
}
OX_API ox_tensor *ox_cumsum_as(ox_tensor *x, int dim, ox_dtype dtype) {
    return oxi_along_as("cumsum_as", OXI_OP_cumsum, x, dim, dtype);
}
OX_API ox_tensor *ox_cumprod_as(ox_tensor *x, int dim, ox_dtype dtype) {
    return oxi_along_as("cumprod_as", OXI_OP_cumprod, x, dim, dtype);
}
