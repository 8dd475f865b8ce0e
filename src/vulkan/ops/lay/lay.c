/* Copies that bring operands into the layout that a shader wants: lines of the last dim in aligned groups of
 * `each` elements, with zeros behind the end of one. A product is bound by arithmetic and its operands are
 * read many times: one more pass over them is little. Called by product.c and windows/conv.c. */

/* Strides of a dense tensor with the dims of t, the last one rounded up to a multiple of `each`; the sizes of
 * such a tensor go to `shape`. */
static void oxi_vk_lay_strides(const ox_tensor *t, int64_t each, int64_t *stride, int64_t *shape) {
    int64_t dense = 1;
    for (int i = t->ndim; i-- > 0;) {
        shape[i] = i == t->ndim - 1 ? oxi_round_up(t->shape[i], each) : t->shape[i];
        stride[i] = dense;
        dense *= shape[i];
    }
}

/* What rounding up has added to the lines of `made`, filled with zeros. */
static ox_status oxi_vk_lay_zeros(oxi_vk_device *d, const oxi_vk_temporary *made, int64_t size) {
    ox_tensor rest = oxi_borrowed(&made->t);
    int last = rest.ndim - 1;
    rest.shape[last] -= size;
    rest.offset += size;
    if (rest.shape[last] == 0) return OX_OK;
    if (4 * rest.shape[last] > made->t.shape[last]) rest = oxi_borrowed(&made->t); /* in whole words */
    oxi_call zeros = oxi_call_of(OXI_OP_fill, NULL, 0, NULL);
    zeros.out[0] = &rest;
    zeros.attr = oxi_attrs_by_default(OXI_OP_fill);
    return oxi_vk_make(d, &zeros);
}

/* A copy of t, in `made`; view: the same numbers there. */
static ox_status oxi_vk_lay(oxi_vk_device *d, const ox_tensor *t, int64_t each, oxi_vk_temporary *made,
                            ox_tensor *view) {
    int64_t shape[OX_MAX_DIMS];
    *view = oxi_borrowed(t);
    oxi_vk_lay_strides(t, each, view->stride, shape);
    ox_status status = oxi_vk_temporary_make(d, made, t->dtype, t->ndim, shape);
    if (status == OX_OK) status = oxi_vk_lay_zeros(d, made, t->shape[t->ndim - 1]);
    if (status != OX_OK) return status;
    view->storage = made->t.storage;
    view->offset = 0;
    return oxi_vk_copy(d, t, view);
}
