/* Tensors with strides of one's own, dtypes of results, and what is reduced to several results or by runs. */

OX_API ox_tensor *ox_empty_strided(ox_shape shape, ox_shape strides, ox_dtype dtype) {
    int64_t reach = 1, step;
    size_t bytes;
    dtype = oxi_default_dtype(dtype, ox_default_dtype());
    if (oxi_check_shape("empty_strided", dtype, shape.ndim, shape.dim, &bytes) != OX_OK) return NULL;
    if (strides.ndim != shape.ndim)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "empty_strided: %d strides for %s", strides.ndim,
                             oxi_shape_text(shape.ndim, shape.dim));
    for (int d = 0; d < shape.ndim; d++) {
        int64_t far = shape.dim[d] > 0 ? shape.dim[d] - 1 : 0;
        if (strides.dim[d] < 0 || !oxi_mul_i64(far, strides.dim[d], &step) ||
            !oxi_add_i64(reach, step, &reach))
            return OXI_FAIL_NULL(OX_ERR_SHAPE, "empty_strided: %s with strides %s",
                                 oxi_shape_text(shape.ndim, shape.dim),
                                 oxi_shape_text(strides.ndim, strides.dim));
        if (shape.dim[d] == 0) return ox_empty(shape, dtype);
    }
    oxi_work work = oxi_work_begin("empty_strided");
    return oxi_work_end(&work, ox_as_strided(ox_empty(OX_SHAPE(reach), dtype), shape, strides, 0));
}

OX_API ox_tensor *ox_logspace(double start, double end, int64_t steps, double base, ox_dtype dtype) {
    oxi_work work = oxi_work_begin("logspace");
    dtype = oxi_default_dtype(dtype, ox_default_dtype());
    if (oxi_info(dtype)->cls == OX_CLASS_INT) { /* as torch, the ends are integers then */
        start = trunc(start);
        end = trunc(end);
    }
    ox_tensor *powers = ox_rpow_number(ox_linspace(start, end, steps, OX_F64), base);
    return oxi_work_end(&work, ox_cast(powers, dtype));
}

/* ---- dtypes -------------------------------------------------------------------------------------------- */

OX_API ox_dtype ox_result_type(ox_tensor *a, ox_tensor *b) {
    ox_tensor *in[2] = {a, b};
    const ox_tensor *refused = NULL;
    if (oxi_any_null("result_type", in, 2)) return OX_DTYPE_NONE;
    oxi_call call = oxi_call_of(OXI_OP_add, in, 2, NULL);
    ox_dtype dtype = oxi_result_type(&call, 0, &refused);
    if (dtype == OX_DTYPE_NONE)
        (void)oxi_fail(OX_ERR_DTYPE, "result_type: %s and %s have none in common", oxi_tensor_text(a),
                       oxi_tensor_text(b));
    return dtype;
}

OX_API bool ox_can_cast(ox_dtype from, ox_dtype to) {
    ox_dtype_class a = oxi_info(from)->cls, b = oxi_info(to)->cls;
    bool plain = a >= OX_CLASS_BOOL && a <= OX_CLASS_COMPLEX && b >= OX_CLASS_BOOL && b <= OX_CLASS_COMPLEX;
    return plain && a <= b;
}

/* ---- several at once ----------------------------------------------------------------------------------- */

OX_API ox_tuple ox_aminmax(ox_tensor *x, int dim, bool keepdim) {
    if (oxi_any_null("aminmax", &x, 1)) return oxi_no_tuple();
    ox_shape dims = dim == OX_FLATTENED ? OX_ALL_DIMS : OX_DIMS(dim);
    oxi_work work = oxi_work_begin("aminmax");
    return oxi_tuple_end(&work, ox_amin(x, dims, keepdim), ox_amax(x, dims, keepdim), NULL);
}
OX_API ox_tuple ox_var_mean(ox_tensor *x, ox_shape dims, double correction, bool keepdim) {
    if (oxi_any_null("var_mean", &x, 1)) return oxi_no_tuple();
    oxi_work work = oxi_work_begin("var_mean");
    return oxi_tuple_end(&work, ox_var(x, dims, correction, keepdim), ox_mean(x, dims, keepdim), NULL);
}
OX_API ox_tuple ox_std_mean(ox_tensor *x, ox_shape dims, double correction, bool keepdim) {
    if (oxi_any_null("std_mean", &x, 1)) return oxi_no_tuple();
    oxi_work work = oxi_work_begin("std_mean");
    return oxi_tuple_end(&work, ox_std(x, dims, correction, keepdim), ox_mean(x, dims, keepdim), NULL);
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

typedef struct oxi_segment_kind {
    const char *name;
    ox_reduction reduction;
    double nothing; /* what runs of no numbers are, without an initial one; a mean's is made after */
} oxi_segment_kind;
static const oxi_segment_kind oxi_segment_kinds[] = {
    {"sum", OX_REDUCTION_SUM, 0},         {"prod", OX_REDUCTION_PROD, 1},
    {"mean", OX_REDUCTION_MEAN, 0},       {"max", OX_REDUCTION_AMAX, -INFINITY},
    {"min", OX_REDUCTION_AMIN, INFINITY},
};

static const oxi_segment_kind *oxi_segment_kind_of(const char *how) {
    for (size_t i = 0; how && i < sizeof oxi_segment_kinds / sizeof *oxi_segment_kinds; i++)
        if (strcmp(oxi_segment_kinds[i].name, how) == 0) return &oxi_segment_kinds[i];
    (void)oxi_fail(OX_ERR_ARG, "segment_reduce: no reduction \"%s\"", how ? how : "NULL");
    return NULL;
}

/* Lengths as given, or those between offsets, as i64 [B,S]; NULL and an error where they do not cover n. */
static ox_tensor *oxi_segment_lengths(ox_tensor *lengths, ox_tensor *offsets, int64_t batch, int64_t n) {
    ox_tensor *given = ox_cast(lengths ? lengths : offsets, OX_I64);
    int64_t size = given ? given->shape[given->ndim - 1] : 0;
    if (!given || (offsets && size < 1))
        return given ? OXI_FAIL_NULL(OX_ERR_INDEX, "segment_reduce: no offsets") : NULL;
    ox_tensor *rows = ox_reshape(given, OX_SHAPE(batch, size));
    bool begins = true;
    if (offsets && rows) {
        begins = !ox_item_int(ox_any(ox_select(rows, 1, 0), OX_ALL_DIMS, false));
        rows = ox_sub(ox_narrow(rows, 1, 1, size - 1), ox_narrow(rows, 1, 0, size - 1));
    }
    ox_tensor *sums = ox_sum(rows, OX_DIMS(1), false);
    ox_tensor *wrong = ox_ne(sums, ox_integer(n)), *below = ox_lt_number(rows, 0);
    if (!wrong || !below) return NULL;
    if (begins && !ox_item_int(ox_any(wrong, OX_ALL_DIMS, false)) &&
        !ox_item_int(ox_any(below, OX_ALL_DIMS, false)))
        return rows;
    return OXI_FAIL_NULL(OX_ERR_INDEX, "segment_reduce: %s do not cover %lld positions",
                         lengths ? "lengths" : "offsets", (long long)n);
}

/* x [B,N,R] by runs of lengths [B,S]. */
static ox_tensor *oxi_segments(ox_tensor *x, const oxi_segment_kind *kind, ox_tensor *lengths,
                               double initial) {
    int64_t batch = x->shape[0], n = x->shape[1], runs = lengths->shape[1];
    ox_shape each = ox_shape_of(x);
    bool starts = !isnan(initial), mean = kind->reduction == OX_REDUCTION_MEAN;
    each.dim[1] = runs;
    ox_tensor *made = oxi_constant_beside(x, each, starts ? initial : kind->nothing);
    if (made && ox_numel(x) > 0 && runs > 0) {
        ox_tensor *ends = ox_contiguous(ox_cumsum(lengths, 1));
        ox_tensor *places = ox_expand(oxi_ramp_beside(x, n, OX_I64), OX_SHAPE(batch, n));
        ox_tensor *run = ox_unsqueeze(ox_searchsorted(ends, ox_contiguous(places), true), -1);
        ox_reduction how = mean ? OX_REDUCTION_SUM : kind->reduction;
        made = ox_scatter_reduce(made, 1, ox_expand(run, ox_shape_of(x)), x, how, true);
    }
    if (!mean || !made) return made;
    ox_tensor *counts = ox_cast(ox_unsqueeze(lengths, -1), made->dtype);
    ox_tensor *means = ox_div(made, ox_clamp(counts, 1, INFINITY));
    return starts ? means : ox_where(ox_eq_number(counts, 0), ox_number(NAN), means);
}

OX_API ox_tensor *ox_segment_reduce(ox_tensor *x, const char *how, ox_tensor *lengths, ox_tensor *offsets,
                                    int axis, double initial) {
    if (oxi_any_null("segment_reduce", &x, 1)) return NULL;
    const oxi_segment_kind *kind = oxi_segment_kind_of(how);
    int at = kind ? oxi_wrap_dim("segment_reduce", axis, x->ndim) : -1;
    if (at < 0) return NULL;
    if (!lengths == !offsets)
        return OXI_FAIL_NULL(OX_ERR_ARG, "segment_reduce: %s",
                             lengths ? "lengths and offsets" : "neither lengths nor offsets");
    ox_tensor *given = lengths ? lengths : offsets;
    bool fits = x->ndim > at && given->ndim == at + 1 && oxi_is_float(x->dtype) && oxi_is_int(given->dtype);
    int64_t batch = 1, rest = 1;
    for (int d = 0; d < x->ndim; d++) {
        if (d < at) fits = fits && given->shape[d] == x->shape[d];
        if (d < at) batch *= x->shape[d];
        if (d > at) rest *= x->shape[d];
    }
    if (!fits)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "segment_reduce: runs %s of %s along dim %d",
                             oxi_tensor_text(given), oxi_tensor_text(x), at);
    oxi_work work = oxi_work_begin("segment_reduce");
    ox_tensor *sizes = oxi_segment_lengths(lengths, offsets, batch, x->shape[at]);
    ox_tensor *flat = sizes ? ox_reshape(x, OX_SHAPE(batch, x->shape[at], rest)) : NULL;
    ox_tensor *made = flat ? oxi_segments(flat, kind, sizes, initial) : NULL;
    ox_shape shape = ox_shape_of(x);
    if (sizes) shape.dim[at] = sizes->shape[1];
    return oxi_work_end(&work, made ? ox_reshape(made, shape) : NULL);
}

/* ---- bits ---------------------------------------------------------------------------------------------- */

/* The exclusive or of the columns of x [rows,n], by halves. */
static ox_tensor *oxi_xor_of_columns(ox_tensor *x) {
    for (int64_t n = x ? x->shape[1] : 0; x && n > 1; n = x->shape[1]) {
        ox_tensor *both = ox_bitwise_xor(ox_narrow(x, 1, 0, n / 2), ox_narrow(x, 1, n / 2, n / 2));
        ox_tensor *parts[2] = {both, n % 2 ? ox_narrow(x, 1, n - 1, 1) : NULL};
        x = both && parts[1] ? ox_cat(parts, 2, 1) : both;
    }
    return x;
}

OX_API ox_tensor *ox_hash_tensor(ox_tensor *x, ox_shape dims, bool keepdim) {
    ox_shape order = oxi_no_shape(), shape = oxi_no_shape();
    uint32_t set = 0;
    if (oxi_any_null("hash_tensor", &x, 1) || !oxi_dim_set("hash_tensor", x, &dims, &set)) return NULL;
    if (oxi_is_block(x->dtype) || oxi_is_complex(x))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "hash_tensor: not defined for %s", oxi_tensor_text(x));
    if (dims.ndim == 0) set = (1u << x->ndim) - 1;
    int64_t rows = 1, n = 1;
    for (int d = 0; d < x->ndim; d++) {
        bool in = set >> d & 1;
        if (in) n *= x->shape[d];
        if (!in) rows *= x->shape[d];
        if (!in) order.dim[order.ndim++] = d;
        if (!in || keepdim) shape.dim[shape.ndim++] = in ? 1 : x->shape[d];
    }
    for (int d = 0; d < x->ndim; d++)
        if (set >> d & 1) order.dim[order.ndim++] = d;
    oxi_work work = oxi_work_begin("hash_tensor");
    ox_tensor *wide = ox_cast(x, oxi_is_float(x->dtype) ? OX_F64 : OX_I64);
    ox_tensor *bits = wide ? ox_reshape(ox_permute(wide, order), OX_SHAPE(rows, n)) : NULL;
    bits = bits ? ox_view_dtype(ox_contiguous(bits), OX_I64) : NULL;
    if (n == 0 && bits) bits = oxi_constant_beside(bits, OX_SHAPE(rows, 1), 0);
    bits = bits ? oxi_xor_of_columns(bits) : NULL;
    return oxi_work_end(&work, bits ? ox_reshape(ox_view_dtype(ox_contiguous(bits), OX_U64), shape) : NULL);
}
