/* Gradients of reductions. A sum's is spread over what was summed; the others follow from how much each
 * element has of the result. */

OXI_GRADIENT_RULE(sum) { return oxi_gives(b, 0, oxi_spread(b, b->g[0])); }

OXI_GRADIENT_RULE(nansum) {
    return oxi_gives(b, 0, ox_where(ox_isnan(b->call->in[0]), ox_number(0), oxi_spread(b, b->g[0])));
}

OXI_GRADIENT_RULE(mean) {
    return oxi_gives(b, 0, oxi_spread(b, ox_div_number(b->g[0], oxi_reduced_count(b))));
}

/* ---- products ------------------------------------------------------------------------------------------ */

/* Products of all that stands before each element along the last dim: [1, x0, x0 x1 ..]. */
static ox_tensor *oxi_product_before(ox_tensor *x) {
    if (!x) return NULL;
    int last = x->ndim - 1;
    ox_shape one = ox_shape_of(x);
    one.dim[last] = 1;
    ox_tensor *parts[2];
    parts[0] = ox_expand(oxi_constant_beside(x, OX_SCALAR_SHAPE, 1), one);
    parts[1] = ox_cumprod(ox_narrow(x, last, 0, x->shape[last] - 1), last);
    return parts[0] && parts[1] ? ox_cat(parts, 2, last) : NULL;
}

static ox_tensor *oxi_backwards(ox_tensor *x, int dim) { return ox_slice(x, dim, OX_END, OX_END, -1); }

/* The product of all others, without a quotient: zeros need no care, and it can be differentiated. */
OXI_GRADIENT_RULE(prod) {
    ox_tensor *x = oxi_wide(b->call->in[0]), *g = oxi_wide(b->g[0]);
    if (!x) return ox_error();
    ox_shape shape = ox_shape_of(x), order = OX_SCALAR_SHAPE, back = OX_SCALAR_SHAPE, line = OX_SCALAR_SHAPE;
    uint32_t reduced = b->call->attr.reduce.dims;
    if (ox_numel(x) == 0) return OX_OK;
    for (int d = 0; d < x->ndim; d++)
        if (!(reduced >> d & 1)) order.dim[order.ndim++] = d;
    for (int d = 0; d < order.ndim; d++) line.dim[line.ndim++] = shape.dim[order.dim[d]];
    line.dim[line.ndim++] = 1;
    g = ox_reshape(g, line);
    for (int d = 0; d < x->ndim; d++)
        if (reduced >> d & 1) order.dim[order.ndim++] = d;
    for (int d = 0; d < x->ndim; d++) shape.dim[d] = b->operand[0].shape[order.dim[d]];
    back.ndim = x->ndim;
    for (int d = 0; d < x->ndim; d++) back.dim[order.dim[d]] = d;
    line.dim[line.ndim - 1] = -1;
    ox_tensor *lines = ox_reshape(x->ndim ? ox_permute(x, order) : x, line);
    int last = line.ndim - 1;
    ox_tensor *others = ox_mul(oxi_product_before(lines),
                               oxi_backwards(oxi_product_before(oxi_backwards(lines, last)), last));
    if (others && others->dtype == OX_C64) others = ox_conj(others);
    ox_tensor *gradient = ox_reshape(ox_mul(g, others), shape);
    return oxi_gives(b, 0, x->ndim ? ox_permute(gradient, back) : gradient);
}

/* ---- the largest and the smallest ---------------------------------------------------------------------- */

/* Those that are alike share the gradient. Where the result is NaN none is like it: 0 / 0, as in torch. */
OXI_GRADIENT_RULE(extreme) {
    ox_tensor *g = oxi_wide(oxi_with_reduced(b, b->g[0]));
    ox_tensor *alike = ox_eq(b->call->in[0], oxi_with_reduced(b, b->out[0]));
    ox_tensor *count = oxi_as_dtype_of(ox_sum(alike, oxi_reduced_dims(b), true), g);
    return oxi_gives(b, 0, ox_div(ox_where(alike, g, ox_number(0)), count));
}

/* To the element that was chosen: the index tells. */
OXI_GRADIENT_RULE(chosen) {
    if (b->operand[0].ndim == 0) return oxi_gives(b, 0, b->g[0]);
    int dim = 0;
    while (!(b->call->attr.reduce.dims >> dim & 1)) dim++;
    ox_tensor *g = oxi_with_reduced(b, b->g[0]), *index = oxi_with_reduced(b, b->out[1]);
    return oxi_gives(b, 0, ox_scatter(oxi_zeros_for(b, 0, g), dim, index, g));
}

/* ---- moments ------------------------------------------------------------------------------------------- */

/* g [reduced] spread: 2 g (x - mean) / (count - correction). */
static ox_tensor *oxi_variance_back(const oxi_backward *b, ox_tensor *g) {
    ox_tensor *x = oxi_wide(b->call->in[0]);
    double freedom = oxi_reduced_count(b) - b->call->attr.moments.correction;
    ox_tensor *apart = ox_sub(x, ox_mean(x, oxi_reduced_dims(b), true));
    return ox_mul(apart, ox_mul_number(oxi_with_reduced(b, g), 2 / freedom));
}

OXI_GRADIENT_RULE(var) { return oxi_gives(b, 0, oxi_variance_back(b, oxi_wide(b->g[0]))); }

OXI_GRADIENT_RULE(std) {
    ox_tensor *y = oxi_wide(b->out[0]), *g = oxi_wide(b->g[0]);
    g = ox_where(ox_eq(y, ox_number(0)), ox_number(0), ox_div(g, ox_mul_number(y, 2)));
    return oxi_gives(b, 0, oxi_variance_back(b, g));
}

/* ---- others -------------------------------------------------------------------------------------------- */

/* g times the softmax. What rounding took from the result is added to it again, as a constant: hooks on the
 * result see second gradients too. */
OXI_GRADIENT_RULE(logsumexp) {
    ox_tensor *x = oxi_wide(b->call->in[0]), *y = oxi_wide(oxi_with_reduced(b, b->out[0]));
    if (x != b->call->in[0]) {
        ox_tensor *rest = ox_logsumexp(ox_detach(x), oxi_reduced_dims(b), true);
        rest = ox_sub(rest, ox_detach(y));
        y = ox_add(y, ox_where(ox_isfinite(rest), rest, ox_number(0)));
    }
    ox_tensor *share = ox_exp(ox_sub(x, y));
    if (share && share->dtype == OX_C64) share = ox_conj(share);
    return oxi_gives(b, 0, ox_mul(share, oxi_wide(oxi_with_reduced(b, b->g[0]))));
}

/* The sign, of complex numbers x / |x|: 0 at 0. */
static ox_tensor *oxi_direction(ox_tensor *x) {
    if (!x || x->dtype != OX_C64) return ox_sign(x);
    ox_tensor *size = ox_abs(x);
    return ox_where(ox_eq(size, ox_number(0)), ox_number(0), ox_div(x, size));
}

OXI_GRADIENT_RULE(abs) {
    if (b->operand[0].dtype != OX_C64) return oxi_gradient_by_formula(oxi_gradient_row_of(OXI_OP_abs), b);
    return oxi_gives(b, 0, ox_mul(oxi_direction(b->call->in[0]), b->g[0]));
}

/* The share of the largest (or smallest) sizes; NaN are those of a NaN result. */
static ox_tensor *oxi_norm_of_extremes(const oxi_backward *b, ox_tensor *x, ox_tensor *y, ox_tensor *g) {
    ox_tensor *size = ox_abs(x);
    ox_tensor *both = ox_logical_and(ox_isnan(size), ox_isnan(y));
    ox_tensor *alike = ox_logical_or(ox_eq(size, y), both);
    ox_tensor *count = oxi_as_dtype_of(ox_sum(alike, oxi_reduced_dims(b), true), g);
    ox_tensor *share = ox_where(alike, ox_div(g, count), ox_number(0));
    return ox_mul(oxi_direction(x), share);
}

/* t, and 0 where `of` is 0. */
static ox_tensor *oxi_zero_where_zero(ox_tensor *of, ox_tensor *t) {
    return ox_where(ox_eq(of, ox_number(0)), ox_number(0), t);
}

/* g / y^power, and 0 where y is 0: there it is divided by 1, so that the gradient of this is not NaN. */
static ox_tensor *oxi_over_norm(ox_tensor *g, ox_tensor *y, double power) {
    ox_tensor *safe = ox_where(ox_eq(y, ox_number(0)), ox_number(1), y);
    return oxi_zero_where_zero(y, ox_div(g, power == 1 ? safe : ox_pow_number(safe, power)));
}

/* g x |x|^(p - 2) / y^(p - 1): 0 where the norm is 0, and where x is if that power is infinite there. */
OXI_GRADIENT_RULE(norm) {
    double p = b->call->attr.power.p;
    ox_tensor *x = oxi_wide(b->call->in[0]);
    ox_tensor *y = oxi_wide(oxi_with_reduced(b, b->out[0])), *g = oxi_wide(oxi_with_reduced(b, b->g[0]));
    if (p == 0) return OX_OK;
    if (p == 1) return oxi_gives(b, 0, ox_mul(oxi_direction(x), g));
    if (isinf(p)) return oxi_gives(b, 0, oxi_norm_of_extremes(b, x, y, g));
    if (p == 2) return oxi_gives(b, 0, ox_mul(x, oxi_over_norm(g, y, 1)));
    ox_tensor *powers;
    if (p < 1)
        powers = ox_mul(oxi_direction(x), ox_pow_number(ox_abs(x), p - 1));
    else
        powers = ox_mul(x, ox_pow_number(ox_abs(x), p - 2));
    if (p < 2) powers = oxi_zero_where_zero(x, powers);
    ox_tensor *rest = p < 1 ? ox_mul(g, ox_pow_number(y, 1 - p)) : oxi_over_norm(g, y, p - 1);
    return oxi_gives(b, 0, ox_mul(powers, rest));
}
