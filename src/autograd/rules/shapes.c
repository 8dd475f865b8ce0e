/* What rules share: zeros beside a tensor, gradients spread over the dims that were reduced, put back where
 * their elements came from, summed to a smaller shape. All by public functions, so that a gradient has a
 * gradient of its own; NULL, with an error recorded, where one of them gives that. */

#define OXI_GRADIENT_RULE(name) static ox_status oxi_gradient_##name(oxi_backward *b)

static ox_status oxi_gives(oxi_backward *b, int i, ox_tensor *gradient) {
    b->grad[i] = gradient;
    return gradient ? OX_OK : ox_error();
}

static ox_shape oxi_outline_shape(const oxi_outline *outline) {
    return ox_shape_from(outline->ndim, outline->shape);
}

static int64_t oxi_outline_numel(const oxi_outline *outline) {
    int64_t count = 1;
    for (int d = 0; d < outline->ndim; d++) count *= outline->shape[d];
    return count;
}

/* Whether a has b's shape, but for dim `without` of b; -1: all of it. Both are there. */
static bool oxi_same_sizes(const ox_tensor *a, const ox_tensor *b, int without) {
    int at = 0;
    for (int d = 0; d < b->ndim; d++) {
        if (d == without) continue;
        if (at >= a->ndim || a->shape[at++] != b->shape[d]) return false;
    }
    return at == a->ndim;
}

/* Of t's dtype, where t is. */
static ox_tensor *oxi_constant_beside(const ox_tensor *t, ox_shape shape, double value) {
    return t ? oxi_full("full", shape, value, t->dtype, oxi_working_device(ox_device_of(t))) : NULL;
}

static ox_tensor *oxi_zeros_for(const oxi_backward *b, int i, const ox_tensor *beside) {
    return oxi_constant_beside(beside, oxi_outline_shape(&b->operand[i]), 0);
}

/* Zeros of a shape without memory for them: one, expanded. */
static ox_tensor *oxi_thin_zeros(const ox_tensor *t, ox_shape shape) {
    return ox_expand(oxi_constant_beside(t, OX_SCALAR_SHAPE, 0), shape);
}

/* ---- reduced dims -------------------------------------------------------------------------------------- */

static ox_shape oxi_reduced_dims(const oxi_backward *b) { return oxi_dims_of_set(b->call->attr.reduce.dims); }

/* t, of the shape of a reduction's result, with the reduced dims as 1: it broadcasts to the operand. */
static ox_tensor *oxi_with_reduced(const oxi_backward *b, ox_tensor *t) {
    const oxi_attr_reduce *told = &b->call->attr.reduce;
    if (told->keepdim || told->dims == 0) return t;
    ox_shape shape = oxi_outline_shape(&b->operand[0]);
    for (int d = 0; d < shape.ndim; d++)
        if (told->dims >> d & 1) shape.dim[d] = 1;
    return ox_reshape(t, shape);
}

/* The same, expanded to the operand's shape. */
static ox_tensor *oxi_spread(const oxi_backward *b, ox_tensor *t) {
    return ox_expand(oxi_with_reduced(b, t), oxi_outline_shape(&b->operand[0]));
}

/* How many elements a reduction takes together. */
static double oxi_reduced_count(const oxi_backward *b) {
    double count = 1;
    for (int d = 0; d < b->operand[0].ndim; d++)
        if (b->call->attr.reduce.dims >> d & 1) count *= (double)b->operand[0].shape[d];
    return count;
}

/* ---- places -------------------------------------------------------------------------------------------- */

/* g [.., n, ..] with `before` zeros in front of it along dim, and `behind` behind it. */
static ox_tensor *oxi_between_zeros(ox_tensor *g, int dim, int64_t before, int64_t behind) {
    ox_tensor *parts[3];
    int count = 0;
    if (!g || (before == 0 && behind == 0)) return g;
    ox_shape shape = ox_shape_of(g);
    for (int i = 0; i < 3; i++) {
        int64_t zeros = i == 0 ? before : behind;
        if (i != 1 && zeros == 0) continue;
        shape.dim[dim] = zeros;
        parts[count] = i == 1 ? g : oxi_thin_zeros(g, shape);
        if (!parts[count++]) return NULL;
    }
    return ox_cat(parts, count, dim);
}

/* first, first + step .. (count of them) as i64, where t is. */
static ox_tensor *oxi_steps_beside(const ox_tensor *t, int64_t first, int64_t count, int64_t step) {
    ox_tensor *ramp = t ? oxi_ramp_beside(t, count, OX_I64) : NULL;
    if (step != 1) ramp = ox_mul(ramp, ox_integer(step));
    return first ? ox_add(ramp, ox_integer(first)) : ramp;
}

/* Zeros of operand 0's shape, with g's rows along dim added where `index` [n] says. */
static ox_tensor *oxi_added_back(const oxi_backward *b, int dim, ox_tensor *index, ox_tensor *g) {
    return ox_index_add(oxi_zeros_for(b, 0, g), dim, index, g, 1);
}

/* ---- sums to a shape ----------------------------------------------------------------------------------- */

/* t summed over what was broadcast from `shape`. */
static ox_tensor *oxi_summed_to(ox_tensor *t, ox_shape shape) {
    if (!t) return NULL;
    ox_shape dims = OX_SCALAR_SHAPE;
    int lead = t->ndim - shape.ndim;
    for (int d = 0; d < t->ndim; d++)
        if (d < lead || (shape.dim[d - lead] == 1 && t->shape[d] != 1)) dims.dim[dims.ndim++] = d;
    if (dims.ndim == 0) return t;
    return ox_reshape(ox_sum(t, dims, true), shape);
}

/* t [N, C, ..] summed for each channel. */
static ox_tensor *oxi_summed_by_channel(ox_tensor *t) {
    ox_shape dims = OX_SCALAR_SHAPE;
    for (int d = 0; t && d < t->ndim; d++)
        if (d != 1) dims.dim[dims.ndim++] = d;
    return ox_sum(t, dims, false);
}

/* t as the dtype of `like`, if both are plain numbers. */
static ox_tensor *oxi_as_dtype_of(ox_tensor *t, const ox_tensor *like) {
    bool same = !t || !like || t->dtype == like->dtype || oxi_is_block(like->dtype);
    return same ? t : ox_cast(t, like->dtype);
}
