/* Gradients of copies and views: the same elements in the operand's places, zeros where the view shows none,
 * sums where it shows one several times. And of clamp_tensor, which picks one of three operands. */

OXI_GRADIENT_RULE(same) { return oxi_gives(b, 0, b->g[0]); }

OXI_GRADIENT_RULE(permute) {
    const oxi_order *order = &b->call->attr.order.dims;
    ox_shape back = OX_SCALAR_SHAPE;
    if (order->count == 0) return oxi_gives(b, 0, b->g[0]);
    back.ndim = order->count;
    for (int i = 0; i < order->count; i++) back.dim[order->dim[i]] = i;
    return oxi_gives(b, 0, ox_permute(b->g[0], back));
}

OXI_GRADIENT_RULE(view) {
    return oxi_gives(b, 0, ox_reshape(b->g[0], oxi_outline_shape(&b->operand[0])));
}

/* Adds g where the view lies in what was added up so far; *done: there was such. */
static ox_status oxi_added_in_view(const oxi_backward *b, bool *done) {
    ox_tensor *sum = oxi_sum_so_far(b, 0), *part;
    *done = sum && b->g[0] && sum->dtype == b->g[0]->dtype;
    if (!*done) return OX_OK;
    part = oxi_apply_1(b->call->op, &b->call->attr, sum);
    return part && ox_add_(part, b->g[0]) ? OX_OK : ox_error();
}

/* Steps of 1 and -1 join with zeros, others are added row by row. */
OXI_GRADIENT_RULE(slice) {
    bool done;
    ox_status status = oxi_added_in_view(b, &done);
    if (done) return status;
    const oxi_attr_slice *told = &b->call->attr.slice;
    int64_t size = b->operand[0].shape[told->dim], first = told->start;
    ox_tensor *g = b->g[0];
    if (told->length > 1 && told->step != 1 && told->step != -1) {
        ox_tensor *places = oxi_steps_beside(g, told->start, told->length, told->step);
        return oxi_gives(b, 0, oxi_added_back(b, told->dim, places, g));
    }
    if (told->length > 1 && told->step == -1) {
        first = told->start - (told->length - 1);
        g = oxi_backwards(g, told->dim);
    }
    if (told->length == 0) first = 0;
    return oxi_gives(b, 0, oxi_between_zeros(g, told->dim, first, size - first - told->length));
}

OXI_GRADIENT_RULE(select) {
    bool done;
    ox_status status = oxi_added_in_view(b, &done);
    if (done) return status;
    const oxi_attr_select *told = &b->call->attr.select;
    int64_t behind = b->operand[0].shape[told->dim] - told->index - 1;
    ox_tensor *g = ox_unsqueeze(b->g[0], told->dim);
    return oxi_gives(b, 0, oxi_between_zeros(g, told->dim, told->index, behind));
}

OXI_GRADIENT_RULE(flip) {
    ox_tensor *g = b->g[0];
    for (int d = 0; d < b->operand[0].ndim; d++)
        if (b->call->attr.dims.dims >> d & 1) g = oxi_backwards(g, d);
    return oxi_gives(b, 0, g);
}

/* The two dims of the operand as one, whose elements the diagonal's go to. */
OXI_GRADIENT_RULE(diagonal) {
    const oxi_attr_between *told = &b->call->attr.between;
    const oxi_outline *x = &b->operand[0];
    ox_tensor *g = b->g[0];
    ox_shape shape = OX_SCALAR_SHAPE, back = OX_SCALAR_SHAPE;
    if (!g) return ox_error();
    int64_t rows = x->shape[told->first], columns = x->shape[told->second], offset = told->offset;
    int64_t length = g->shape[g->ndim - 1], start = offset >= 0 ? offset : -offset * columns;
    for (int d = 0; d < g->ndim - 1; d++) shape.dim[shape.ndim++] = g->shape[d];
    shape.dim[shape.ndim++] = rows * columns;
    ox_tensor *flat = oxi_constant_beside(g, shape, 0);
    if (length > 0)
        flat = ox_index_add(flat, g->ndim - 1, oxi_steps_beside(g, start, length, columns + 1), g, 1);
    shape.dim[shape.ndim - 1] = rows;
    shape.dim[shape.ndim++] = columns;
    back.ndim = x->ndim;
    for (int d = 0, lead = 0; d < x->ndim; d++)
        back.dim[d] = d == told->first ? x->ndim - 2 : d == told->second ? x->ndim - 1 : lead++;
    return oxi_gives(b, 0, ox_permute(ox_view(flat, shape), back));
}

/* The windows' elements along dim, added to where they lie. */
OXI_GRADIENT_RULE(unfold) {
    const oxi_attr_windows *told = &b->call->attr.windows;
    ox_tensor *g = b->g[0];
    int dim = told->dim, ndim = b->operand[0].ndim;
    if (ndim == 0) return oxi_gives(b, 0, ox_reshape(told->size ? g : ox_sum(g, OX_ALL_DIMS, false),
                                                     OX_SCALAR_SHAPE));
    if (!g) return ox_error();
    int64_t windows = g->shape[dim];
    ox_shape shape = oxi_outline_shape(&b->operand[0]);
    shape.dim[dim] = windows * told->size;
    ox_tensor *first = ox_unsqueeze(oxi_steps_beside(g, 0, windows, told->step), 1);
    ox_tensor *places = ox_flatten(ox_add(first, oxi_steps_beside(g, 0, told->size, 1)), 0, -1);
    return oxi_gives(b, 0, oxi_added_back(b, dim, places, ox_reshape(ox_movedim(g, -1, dim + 1), shape)));
}

/* ---- strides ------------------------------------------------------------------------------------------- */

/* The places in a storage that elements have, as i64 [numel], counted from the lowest. */
static ox_tensor *oxi_places_by_stride(const ox_tensor *beside, ox_shape shape, const int64_t *stride,
                                       int64_t first) {
    ox_tensor *places = NULL;
    for (int d = 0; d < shape.ndim; d++) {
        ox_shape line = shape;
        for (int e = 0; e < shape.ndim; e++) line.dim[e] = e == d ? shape.dim[d] : 1;
        ox_tensor *steps = ox_view(oxi_steps_beside(beside, d ? 0 : first, shape.dim[d], stride[d]), line);
        places = d ? ox_add(places, steps) : steps;
    }
    if (shape.ndim == 0) return oxi_steps_beside(beside, first, 1, 1);
    return ox_flatten(places, 0, -1);
}

static void oxi_reach_of(ox_shape shape, const int64_t *stride, int64_t offset, int64_t *least,
                         int64_t *most) {
    for (int d = 0; d < shape.ndim; d++) {
        int64_t far = (shape.dim[d] - 1) * stride[d];
        *(far < 0 ? least : most) += far;
    }
    *least += offset;
    *most += offset;
}

/* Whether elements may lie on one another: a dim's steps are no longer than what smaller steps reach. */
static bool oxi_may_overlap(const ox_tensor *x) {
    for (int d = 0; d < x->ndim; d++) {
        int64_t step = x->stride[d] < 0 ? -x->stride[d] : x->stride[d], reach = 0;
        for (int e = 0; e < x->ndim; e++) {
            int64_t other = x->stride[e] < 0 ? -x->stride[e] : x->stride[e];
            if (e != d && (other < step || (other == step && e > d))) reach += (x->shape[e] - 1) * other;
        }
        if (x->shape[d] > 1 && step <= reach) return true;
        if (x->shape[d] > 1 && step == 0) return true;
    }
    return false;
}

/* Through the memory that both lie in: g is added up there, and read as the operand lies. Elements of the
 * operand that share a place share its gradient, as in torch. */
OXI_GRADIENT_RULE(as_strided) {
    const oxi_attr_strided *told = &b->call->attr.strided;
    const ox_tensor *x = b->call->in[0];
    ox_tensor *g = b->g[0];
    int64_t least[2] = {0, 0}, most[2] = {0, 0};
    if (!x || !g) return ox_error();
    if (ox_numel(x) == 0 || ox_numel(g) == 0) return OX_OK;
    ox_shape shape = ox_shape_of(x);
    oxi_reach_of(shape, x->stride, x->offset, &least[0], &most[0]);
    oxi_reach_of(told->shape, told->strides.dim, told->offset, &least[1], &most[1]);
    int64_t start = least[0] < least[1] ? least[0] : least[1];
    int64_t end = most[0] > most[1] ? most[0] : most[1];
    ox_tensor *memory = oxi_constant_beside(g, OX_SHAPE(end - start + 1), 0);
    ox_tensor *to = oxi_places_by_stride(g, told->shape, told->strides.dim, told->offset - start);
    ox_tensor *from = oxi_places_by_stride(g, shape, x->stride, x->offset - start);
    memory = ox_index_add(memory, 0, to, ox_flatten(g, 0, -1), 1);
    if (oxi_may_overlap(x)) {
        ox_tensor *ones = oxi_thin_zeros(g, OX_SHAPE(ox_numel(x)));
        ones = ox_add_number(ones, 1);
        ox_tensor *count =
            ox_index_add(oxi_constant_beside(g, OX_SHAPE(end - start + 1), 0), 0, from, ones, 1);
        memory = ox_div(memory, ox_maximum(count, ox_number(1)));
    }
    return oxi_gives(b, 0, ox_reshape(ox_index_select(memory, 0, from), shape));
}

/* ---- complex numbers ----------------------------------------------------------------------------------- */

/* f32 [.., 2] as c64; a copy where the pairs do not lie side by side. */
static ox_tensor *oxi_pairs_as_complex(ox_tensor *pairs) {
    if (!pairs) return NULL;
    bool fits = ox_is_contiguous(pairs) && pairs->offset % 2 == 0;
    return ox_view_as_complex(fits ? pairs : ox_clone(pairs));
}

OXI_GRADIENT_RULE(view_as_real) {
    int64_t part = b->call->attr.part.part; /* 0 both, 1 real, 2 imaginary */
    ox_tensor *g = oxi_wide(b->g[0]), *parts[2];
    if (!g || part == 0) return oxi_gives(b, 0, oxi_pairs_as_complex(g));
    ox_tensor *zeros = oxi_thin_zeros(g, ox_shape_of(g));
    parts[0] = part == 1 ? g : zeros;
    parts[1] = part == 1 ? zeros : g;
    return oxi_gives(b, 0, zeros ? oxi_pairs_as_complex(ox_stack(parts, 2, -1)) : NULL);
}

OXI_GRADIENT_RULE(view_as_complex) { return oxi_gives(b, 0, ox_view_as_real(b->g[0])); }

/* ---- bounds -------------------------------------------------------------------------------------------- */

/* true where `t` is, and where `more` is, which may be NULL. */
static ox_tensor *oxi_and_also(ox_tensor *t, ox_tensor *more) { return more ? ox_logical_and(t, more) : t; }

/* Inclusive, as torch's: x passes at its bounds; a low one above the high one counts for nothing. */
OXI_GRADIENT_RULE(clamp_tensor) {
    ox_tensor *x = b->call->in[0], *low = b->call->in[1], *high = b->call->in[2], *g = b->g[0];
    ox_tensor *none = ox_number(0), *passes = NULL;
    ox_status status = OX_OK;
    if (b->wants[0]) {
        if (low) passes = ox_ge(x, low);
        if (high) passes = oxi_and_also(ox_le(x, high), passes);
        status = oxi_gives(b, 0, ox_where(passes, g, none));
    }
    if (status == OX_OK && b->wants[1]) {
        passes = oxi_and_also(ox_lt(x, low), high ? ox_lt(low, high) : NULL);
        status = oxi_gives(b, 1, ox_where(passes, g, none));
    }
    if (status == OX_OK && b->wants[2]) {
        passes = ox_gt(x, high);
        if (low) passes = ox_logical_or(passes, ox_lt(high, low));
        status = oxi_gives(b, 2, ox_where(passes, g, none));
    }
    return status;
}
