/* Indices: which elements meet, for ops that read or write at an index, and which parts of operands a result
 * is made of. Whether indices are in range is for devices to see. */

static const oxi_index_form oxi_index_table[] = {
#define OXI_INDEX(op, kind, by, does) {OXI_OP_##op, OXI_INDEX_##kind, OXI_BY_##by, OXI_DOES_##does},
#include "form/index.def"
#undef OXI_INDEX
};

static const oxi_index_form *oxi_index_form_of(oxi_op op) {
    size_t i = 0;
    while (oxi_index_table[i].op != op) i++; /* every op of the family is there: tests/test_calls.c */
    return &oxi_index_table[i];
}

/* A header with at least one dim: a single number is a row of one. */
static ox_tensor oxi_at_least_1d(const ox_tensor *t) {
    ox_tensor row = oxi_borrowed(t);
    if (row.ndim == 0) {
        row.ndim = 1;
        row.shape[0] = 1;
        row.stride[0] = 1;
    }
    return row;
}

/* ---- at an index --------------------------------------------------------------------------------------- */

/* Rows of a table [V,D] for ids [..]: a result [..,D]. */
static void oxi_places_of_rows(const oxi_call *call, oxi_places *p) {
    p->index = oxi_borrowed(call->in[1]);
    for (int d = 0; d < p->index.ndim; d++) p->index_stride[d] = p->index.stride[d];
    p->indexed_stride[p->index.ndim] = p->indexed.stride[1];
}

static void oxi_places_along_dim(const oxi_call *call, const oxi_index_form *form, oxi_places *p) {
    int dim = call->attr.along.dim;
    p->index = oxi_at_least_1d(call->in[1]);
    p->dim = dim;
    for (int d = 0; d < p->indexed.ndim; d++) {
        if (d != dim) p->indexed_stride[d] = p->indexed.stride[d];
        if (form->by == OXI_BY_EACH) p->index_stride[d] = p->index.stride[d];
    }
    if (form->by == OXI_BY_DIM) p->index_stride[dim] = p->index.stride[0];
}

OXI_UNUSED static void oxi_places_of(const oxi_call *call, oxi_places *p) {
    const oxi_index_form *form = oxi_index_form_of(call->op);
    bool put = form->kind == OXI_INDEX_PUT;
    memset(p, 0, sizeof *p);
    p->indexed = oxi_at_least_1d(put ? call->out[0] : call->in[0]);
    p->moved = oxi_at_least_1d(put ? call->in[2] : call->out[0]);
    if (form->by == OXI_BY_ROWS)
        oxi_places_of_rows(call, p);
    else
        oxi_places_along_dim(call, form, p);
    p->step = p->indexed.stride[p->dim];
    p->size = p->indexed.shape[p->dim];
    /* of a source larger than the index, the part that has indices */
    const ox_tensor *shape = put && form->by == OXI_BY_EACH ? &p->index : &p->moved;
    p->ndim = shape->ndim;
    for (int d = 0; d < p->ndim; d++) p->shape[d] = shape->shape[d];
    p->alpha = 1;
    (void)oxi_attrs_numbers(call->op, &call->attr, &p->alpha, 1);
}

/* ---- copies of parts ----------------------------------------------------------------------------------- */

/* How far each dim of a tensor with elements moves, in [0, its size); bits of those that move. */
static uint32_t oxi_roll_shifts(const oxi_call *call, int64_t *shift) {
    const ox_tensor *x = call->in[0];
    uint32_t rolled = 0;
    for (int i = 0; i < call->attr.roll.dims.count; i++) { /* a dim may be named twice */
        int dim = call->attr.roll.dims.dim[i];
        int64_t size = x->ndim > 0 ? x->shape[dim] : 1, by = call->attr.roll.shifts.dim[i] % size;
        shift[dim] = (shift[dim] + by + size) % size;
    }
    for (int d = 0; d < x->ndim; d++) rolled |= shift[d] ? 1u << d : 0;
    return rolled;
}

static oxi_copies oxi_copies_of(const oxi_call *call) {
    oxi_copies p;
    memset(&p, 0, sizeof p);
    p.call = call;
    p.rolls = oxi_index_form_of(call->op)->does == OXI_DOES_ROLLS;
    if (ox_numel(call->out[0]) == 0)
        p.ended = true;
    else if (p.rolls)
        p.rolled = oxi_roll_shifts(call, p.shift);
    return p;
}

static bool oxi_copies_join(oxi_copies *p, ox_tensor *from, ox_tensor *to) {
    const oxi_call *call = p->call;
    int dim = call->attr.along.dim;
    while (p->next < (uint32_t)call->in_count && ox_numel(call->in[p->next]) == 0)
        p->next++; /* also [0], which torch lets join anything */
    if (p->next == (uint32_t)call->in_count) return false;
    *from = oxi_borrowed(call->in[p->next++]);
    *to = oxi_borrowed(call->out[0]);
    to->shape[dim] = from->shape[dim];
    to->offset += p->at * to->stride[dim];
    p->at += from->shape[dim];
    return true;
}

/* Each rolled dim falls into two pieces, the one that moves up and the one that comes round; every
 * combination of pieces is a part. Bit d of `next`: the piece of dim d that comes round. */
static bool oxi_copies_roll(oxi_copies *p, ox_tensor *from, ox_tensor *to) {
    const ox_tensor *x = p->call->in[0];
    *from = oxi_borrowed(x);
    *to = oxi_borrowed(p->call->out[0]);
    for (int d = 0; d < x->ndim; d++) {
        int64_t size = x->shape[d], by = p->shift[d];
        if (p->next >> d & 1) {
            from->shape[d] = to->shape[d] = by;
            from->offset += (size - by) * from->stride[d];
        } else {
            from->shape[d] = to->shape[d] = size - by;
            to->offset += by * to->stride[d];
        }
    }
    p->ended = p->next == p->rolled;
    p->next = ((p->next | ~p->rolled) + 1) & p->rolled; /* the next set of rolled dims */
    return true;
}

static bool oxi_copies_next(oxi_copies *p, ox_tensor *from, ox_tensor *to) {
    if (p->ended) return false;
    return p->rolls ? oxi_copies_roll(p, from, to) : oxi_copies_join(p, from, to);
}
