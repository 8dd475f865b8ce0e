/* Gradients of what moves elements by index: what was read is added where it came from, what was written is
 * read where it went. */

/* t as the first part of zeros that are larger in some dims: indices may be fewer than sources. */
static ox_tensor *oxi_filled_up(ox_tensor *t, const oxi_outline *outline) {
    for (int d = 0; t && d < outline->ndim; d++)
        t = oxi_between_zeros(t, d, 0, outline->shape[d] - t->shape[d]);
    return t;
}

OXI_GRADIENT_RULE(gather) {
    ox_tensor *g = b->g[0];
    ox_tensor *zeros = oxi_zeros_for(b, 0, g);
    return oxi_gives(b, 0, ox_scatter_add(zeros, b->call->attr.along.dim, b->call->in[1], g));
}

/* bool, for each index: whether its source is what stands there in the end, where several went. */
static ox_tensor *oxi_scattered_last(const oxi_backward *b, ox_tensor *index) {
    int dim = b->call->attr.along.dim;
    if (!index) return NULL;
    ox_tensor *own = ox_reshape(oxi_steps_beside(index, 0, ox_numel(index), 1), ox_shape_of(index));
    ox_tensor *none = own ? oxi_constant_beside(own, oxi_outline_shape(&b->operand[0]), -1) : NULL;
    return ox_eq(ox_gather(ox_scatter(none, dim, index, own), dim, index), own);
}

OXI_GRADIENT_RULE(scatter) {
    int dim = b->call->attr.along.dim;
    ox_tensor *g = b->g[0], *index = b->call->in[1];
    ox_status status = OX_OK;
    if (b->wants[0]) {
        ox_tensor *zeros = index ? oxi_thin_zeros(g, ox_shape_of(index)) : NULL;
        status = oxi_gives(b, 0, ox_scatter(g, dim, index, zeros));
    }
    if (status == OX_OK && b->wants[2]) {
        ox_tensor *own = ox_where(oxi_scattered_last(b, index), ox_gather(g, dim, index), ox_number(0));
        status = oxi_gives(b, 2, oxi_filled_up(own, &b->operand[2]));
    }
    return status;
}

OXI_GRADIENT_RULE(scatter_add) {
    ox_status status = b->wants[0] ? oxi_gives(b, 0, b->g[0]) : OX_OK;
    if (status != OX_OK || !b->wants[2]) return status;
    ox_tensor *own = ox_gather(b->g[0], b->call->attr.along.dim, b->call->in[1]);
    return oxi_gives(b, 2, oxi_filled_up(own, &b->operand[2]));
}

/* The part of sources that indices go to. */
static ox_tensor *oxi_used_sources(ox_tensor *source, const ox_tensor *index) {
    for (int d = 0; source && index && d < index->ndim; d++)
        if (source->shape[d] != index->shape[d]) source = ox_narrow(source, d, 0, index->shape[d]);
    return index ? source : NULL;
}

static ox_tensor *oxi_conjugate(ox_tensor *t) { return t && t->dtype == OX_C64 ? ox_conj(t) : t; }

/* Products of the others. x counts once, so its others are the sources, multiplied into 1. A source's are the
 * result by itself; one that is the only 0 among those of its place is left out of the product. */
OXI_GRADIENT_RULE(scatter_prod) {
    int dim = b->call->attr.along.dim;
    ox_tensor *index = b->call->in[1], *g = oxi_wide(b->g[0]);
    ox_tensor *x = oxi_conjugate(oxi_wide(b->call->in[0]));
    ox_tensor *source = oxi_conjugate(oxi_wide(oxi_used_sources(b->call->in[2], index)));
    ox_status status = OX_OK;
    if (b->wants[0]) {
        ox_tensor *ones = oxi_constant_beside(source, oxi_outline_shape(&b->operand[0]), 1);
        ox_tensor *others = ox_scatter_reduce(ones, dim, index, source, OX_REDUCTION_PROD, true);
        status = oxi_gives(b, 0, ox_mul(g, others));
    }
    if (status != OX_OK || !b->wants[2]) return status;
    ox_tensor *y = oxi_conjugate(oxi_wide(b->out[0])), *zero = ox_eq(source, ox_number(0));
    ox_tensor *counts =
        ox_scatter_add(oxi_zeros_for(b, 0, source), dim, index, oxi_as_dtype_of(zero, source));
    ox_tensor *only = ox_logical_and(zero, ox_eq(ox_gather(counts, dim, index), ox_number(1)));
    ox_tensor *rest = oxi_as_dtype_of(ox_where(only, ox_number(1), source), source);
    ox_tensor *without = ox_scatter_reduce(x, dim, index, rest, OX_REDUCTION_PROD, true);
    ox_tensor *quotient = ox_div(ox_gather(ox_mul(g, y), dim, index), ox_where(zero, ox_number(1), source));
    ox_tensor *own = ox_where(only, ox_gather(ox_mul(g, without), dim, index), quotient);
    return oxi_gives(b, 2, oxi_filled_up(own, &b->operand[2]));
}

/* x and the sources that are alike the result share. */
OXI_GRADIENT_RULE(scatter_extreme) {
    int dim = b->call->attr.along.dim;
    ox_tensor *index = b->call->in[1], *y = b->out[0], *g = oxi_wide(b->g[0]);
    ox_tensor *source = oxi_used_sources(b->call->in[2], index);
    ox_tensor *own = ox_eq(b->call->in[0], y), *theirs = ox_eq(source, ox_gather(y, dim, index));
    ox_tensor *count = ox_scatter_add(oxi_as_dtype_of(own, g), dim, index, oxi_as_dtype_of(theirs, g));
    ox_tensor *share = ox_div(g, count);
    ox_status status = b->wants[0] ? oxi_gives(b, 0, ox_where(own, share, ox_number(0))) : OX_OK;
    if (status != OX_OK || !b->wants[2]) return status;
    ox_tensor *part = ox_where(theirs, ox_gather(share, dim, index), ox_number(0));
    return oxi_gives(b, 2, oxi_filled_up(part, &b->operand[2]));
}

OXI_GRADIENT_RULE(index_select) {
    return oxi_gives(b, 0, oxi_added_back(b, b->call->attr.along.dim, b->call->in[1], b->g[0]));
}

OXI_GRADIENT_RULE(index_add) {
    const oxi_attr_index_add *told = &b->call->attr.index_add;
    ox_status status = b->wants[0] ? oxi_gives(b, 0, b->g[0]) : OX_OK;
    if (status != OX_OK || !b->wants[2]) return status;
    ox_tensor *own = ox_index_select(b->g[0], told->dim, b->call->in[1]);
    return oxi_gives(b, 2, told->alpha == 1 ? own : ox_mul_number(own, told->alpha));
}

OXI_GRADIENT_RULE(masked_select) {
    ox_tensor *places = ox_flatten(ox_nonzero(ox_flatten(b->call->in[1], 0, -1)), 0, -1), *g = b->g[0];
    ox_tensor *flat = oxi_constant_beside(g, OX_SHAPE(oxi_outline_numel(&b->operand[0])), 0);
    flat = ox_index_add(flat, 0, places, g, 1);
    return oxi_gives(b, 0, ox_reshape(flat, oxi_outline_shape(&b->operand[0])));
}

OXI_GRADIENT_RULE(embedding) {
    ox_tensor *ids = ox_flatten(b->call->in[1], 0, -1), *g = b->g[0];
    if (!ids || !g) return ox_error();
    ox_tensor *rows = ox_reshape(g, OX_SHAPE(ox_numel(ids), b->operand[0].shape[1]));
    ox_tensor *sum = oxi_sum_so_far(b, 0); /* a table that is a layer's weight too */
    if (sum && rows && sum->dtype == rows->dtype)
        return ox_index_add_(sum, 0, ids, rows, 1) ? OX_OK : ox_error();
    return oxi_gives(b, 0, oxi_added_back(b, 0, ids, rows));
}

OXI_GRADIENT_RULE(triangle) {
    int64_t diagonal = b->call->attr.diagonal.diagonal;
    bool upper = b->call->op == OXI_OP_triu;
    return oxi_gives(b, 0, upper ? ox_triu(b->g[0], diagonal) : ox_tril(b->g[0], diagonal));
}

OXI_GRADIENT_RULE(cat) {
    int dim = b->call->attr.along.dim;
    int64_t start = 0;
    for (int i = 0; i < b->call->in_count; i++) {
        int64_t length = b->operand[i].shape[dim];
        ox_status status = b->wants[i] ? oxi_gives(b, i, ox_narrow(b->g[0], dim, start, length)) : OX_OK;
        if (status != OX_OK) return status;
        start += length;
    }
    return OX_OK;
}

OXI_GRADIENT_RULE(roll) {
    oxi_attrs attr = b->call->attr;
    for (int i = 0; i < attr.roll.shifts.ndim; i++) {
        int64_t size = b->operand[0].ndim ? b->operand[0].shape[attr.roll.dims.dim[i]] : 1;
        if (size > 0)
            attr.roll.shifts.dim[i] = -(attr.roll.shifts.dim[i] % size); /* of the least int64 too */
    }
    return oxi_gives(b, 0, oxi_apply_1(OXI_OP_roll, &attr, b->g[0]));
}
