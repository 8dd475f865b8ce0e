/* Gradients along one dim: running sums and products, sorts. */

/* Sums from each element to the end. */
static ox_tensor *oxi_sums_to_end(ox_tensor *g, int dim) {
    if (!g || g->ndim == 0) return g;
    return oxi_backwards(ox_cumsum(oxi_backwards(g, dim), dim), dim);
}

OXI_GRADIENT_RULE(cumsum) {
    return oxi_gives(b, 0, oxi_sums_to_end(oxi_wide(b->g[0]), b->call->attr.along.dim));
}

/* s[i] = g[i] + x[i+1] s[i+1] along dim, for all i in steps that double: after the one of length n, s[i] is
 * the sum of n terms, and reach[i] the product that leads to the next one. No quotient, so zeros are no case
 * of their own. source: Hillis & Steele 1986 */
static ox_tensor *oxi_sums_of_products(ox_tensor *g, ox_tensor *x, int dim) {
    if (!g) return NULL;
    int64_t count = g->shape[dim];
    ox_tensor *sums = g, *reach = ox_narrow(x, dim, 1, count - 1);
    for (int64_t step = 1; step < count; step *= 2) {
        int64_t left = count - step;
        ox_tensor *parts[2];
        parts[0] = ox_add(ox_narrow(sums, dim, 0, left), ox_mul(reach, ox_narrow(sums, dim, step, left)));
        parts[1] = ox_narrow(sums, dim, left, step);
        if (!parts[0] || !parts[1]) return NULL;
        sums = ox_cat(parts, 2, dim);
        if (left > step)
            reach = ox_mul(ox_narrow(reach, dim, 0, left - step), ox_narrow(reach, dim, step, left - step));
    }
    return sums;
}

/* What comes before an element, times what it was multiplied with behind. */
OXI_GRADIENT_RULE(cumprod) {
    int dim = b->call->attr.along.dim;
    ox_tensor *x = oxi_wide(b->call->in[0]), *y = oxi_wide(b->out[0]), *g = oxi_wide(b->g[0]), *parts[2];
    if (b->operand[0].ndim == 0) return oxi_gives(b, 0, g);
    if (oxi_outline_numel(&b->operand[0]) == 0) return OX_OK;
    if (x && x->dtype == OX_C64) {
        x = ox_conj(x);
        y = ox_conj(y);
    }
    ox_shape one = oxi_outline_shape(&b->operand[0]);
    one.dim[dim] = 1;
    parts[0] = ox_expand(oxi_constant_beside(y, OX_SCALAR_SHAPE, 1), one);
    parts[1] = ox_narrow(y, dim, 0, b->operand[0].shape[dim] - 1);
    if (!parts[0] || !parts[1]) return ox_error();
    return oxi_gives(b, 0, ox_mul(ox_cat(parts, 2, dim), oxi_sums_of_products(g, x, dim)));
}

/* Each element back to where it was. */
OXI_GRADIENT_RULE(sorted) {
    ox_tensor *g = b->g[0];
    if (b->operand[0].ndim == 0) return oxi_gives(b, 0, g);
    return oxi_gives(b, 0, ox_scatter(oxi_zeros_for(b, 0, g), b->call->attr.sort.dim, b->out[1], g));
}
