/* Views in place: a tensor's header becomes that of a view of it, and its tape the view's, which leads to
 * what the tensor was. Nothing is known here of dims: the views are made by the functions that have no _. */

/* A leaf whose numbers are seen in another way from now on, which is not recorded: its tape stays. */
static ox_status oxi_leaf_becomes(const char *name, const oxi_tape *tape) {
    if (tape->gradient)
        return oxi_fail(OX_ERR_ARG, "%s: a leaf that has a gradient; ox_set_gradient(leaf, NULL) first",
                        name);
    if (oxi_atomic_load(&tape->counted.references) > 1 || tape->hooks)
        return oxi_fail(OX_ERR_ARG, "%s: a leaf that has hooks or views, or that a recorded call needs",
                        name);
    return OX_OK;
}

/* The leaf as it is now: of a variable that it was a view of, it is one no longer. */
static void oxi_leaf_is(const ox_tensor *t, oxi_tape *tape) {
    oxi_tape *parent = tape->parent;
    oxi_outline_of(t, &tape->outline);
    tape->parent = NULL;
    tape->base = tape;
    if (parent) oxi_counted_drop(&parent->counted);
}

/* Whether t may become another view of its numbers; false and an error. */
static bool oxi_may_become(const char *name, ox_tensor *t) {
    oxi_edge edge;
    if (oxi_any_null(name, &t, 1)) return false;
    oxi_tape *tape = (oxi_tape *)t->tape;
    oxi_call call = oxi_call_of(OXI_OP_view, &t, 1, t);
    call.name = name;
    ox_status status = OX_OK;
    if (t->is_number)
        status = oxi_fail(OX_ERR_ARG, "%s: a number stays what it is", name);
    else if (t->storage->inference && !oxi_inference_mode)
        status = oxi_fail(OX_ERR_ARG, "%s: an inference tensor is changed in place outside of inference mode",
                          name);
    else if (!oxi_grad_off)
        status = oxi_check_written(&call, false);
    else if (tape && (status = oxi_tape_edge(tape, &edge)) == OX_OK && edge.leaf == tape)
        status = oxi_leaf_becomes(name, tape);
    else if (status == OX_OK && tape && oxi_edge_is(&edge))
        status = oxi_fail(OX_ERR_ARG, "%s: a result that was recorded is changed while nothing is", name);
    return status == OX_OK;
}

static void oxi_take_tape(ox_tensor *t, oxi_tape *tape) {
    oxi_tape *before = (oxi_tape *)t->tape;
    if (tape) oxi_counted_keep(&tape->counted);
    t->tape = tape;
    if (before) oxi_counted_drop(&before->counted);
}

/* Whether a tape says nothing: no gradient, no other variable, nobody else who has it. */
static bool oxi_is_blank(oxi_tape *tape) {
    return !tape->parent && !tape->requires_grad && !oxi_edge_is(&tape->made) &&
           oxi_atomic_load(&tape->counted.references) == 1;
}

/* t as the view; NULL: there is none. */
static ox_tensor *oxi_become(oxi_work *work, const char *name, ox_tensor *t, ox_tensor *view) {
    oxi_tape *tape = (oxi_tape *)t->tape;
    if (view) {
        bool leaf = tape && tape->requires_grad, view_before = tape && tape->parent && !tape->became;
        t->ndim = view->ndim;
        memcpy(t->shape, view->shape, sizeof t->shape);
        memcpy(t->stride, view->stride, sizeof t->stride);
        t->offset = view->offset;
        if (leaf)
            oxi_leaf_is(t, tape);
        else
            oxi_take_tape(t, (oxi_tape *)view->tape);
        tape = (oxi_tape *)t->tape;
        if (tape && tape->parent && !oxi_edge_is(&tape->made) && oxi_is_blank(tape->parent))
            oxi_take_tape(t, NULL); /* else buffers that are turned again and again had a chain of them */
        if (t->tape) ((oxi_tape *)t->tape)->changed_by = name;
        if (t->tape && !view_before) ((oxi_tape *)t->tape)->became = true;
        oxi_atomic_add(&t->storage->version, 1);
    }
    (void)oxi_work_end(work, NULL);
    return view ? t : NULL;
}

#define OXI_VIEW_IN_PLACE(name, parameters, ...)               \
    OX_API ox_tensor *ox_##name##_ parameters {                \
        if (!oxi_may_become(#name "_", t)) return NULL;        \
        oxi_work work = oxi_work_begin(#name "_");             \
        return oxi_become(&work, #name "_", t, (__VA_ARGS__)); \
    }
OXI_VIEW_IN_PLACE(transpose, (ox_tensor * t, int dim0, int dim1), ox_transpose(t, dim0, dim1))
OXI_VIEW_IN_PLACE(t, (ox_tensor * t), ox_t(t))
OXI_VIEW_IN_PLACE(squeeze, (ox_tensor * t, int dim), ox_squeeze(t, dim))
OXI_VIEW_IN_PLACE(squeeze_all, (ox_tensor * t), ox_squeeze_all(t))
OXI_VIEW_IN_PLACE(unsqueeze, (ox_tensor * t, int dim), ox_unsqueeze(t, dim))
OXI_VIEW_IN_PLACE(as_strided, (ox_tensor * t, ox_shape shape, ox_shape strides, int64_t offset),
                  ox_as_strided(t, shape, strides, offset))

/* ---- resizing ------------------------------------------------------------------------------------------ */

/* Memory for `elements` from the storage's start on, which begins with what t's has. */
static ox_tensor *oxi_moved_to_more(ox_tensor *t, int64_t elements) {
    int64_t had = (int64_t)(t->storage->bytes / (size_t)oxi_info(t->dtype)->block_bytes);
    ox_tensor *more = oxi_full("resize_", OX_SHAPE(elements), 0, t->dtype, ox_device_of(t));
    if (!more || had == 0) return more;
    ox_tensor *all = ox_as_strided(t, OX_SHAPE(had), OX_SHAPE(1), 0);
    return all && ox_copy_(ox_narrow(more, 0, 0, had), all) ? more : NULL;
}

static ox_tensor *oxi_resize_to(ox_tensor *t, ox_shape shape, ox_tensor *meta, int64_t elements) {
    oxi_work work = oxi_work_begin("resize_");
    bool enabled = ox_set_grad_enabled(false);
    bool moves = (uint64_t)elements > t->storage->bytes / (uint64_t)oxi_info(t->dtype)->block_bytes;
    ox_tensor *from = moves ? oxi_moved_to_more(t, elements) : t;
    ox_shape strides = shape;
    memcpy(strides.dim, meta->stride, sizeof strides.dim);
    ox_tensor *view = from ? ox_as_strided(from, shape, strides, t->offset) : NULL;
    (void)ox_set_grad_enabled(enabled);
    if (view && moves) {
        ox_storage *before = t->storage;
        oxi_storage_retain(from->storage);
        t->storage = from->storage;
        oxi_storage_release(before);
        oxi_take_tape(t, NULL);
    }
    return oxi_become(&work, "resize_", t, view);
}

OX_API ox_tensor *ox_resize_(ox_tensor *t, ox_shape shape) {
    ox_tensor meta;
    size_t bytes;
    int64_t elements;
    oxi_edge edge = {NULL, 0, NULL};
    if (!oxi_may_become("resize_", t)) return NULL;
    if (t->tape && oxi_tape_edge((oxi_tape *)t->tape, &edge) != OX_OK) return NULL;
    if (oxi_edge_is(&edge)) return OXI_FAIL_NULL(OX_ERR_ARG, "resize_: a tensor that has a gradient");
    if (oxi_is_block(t->dtype))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "resize_: not defined for %s", oxi_tensor_text(t));
    if (oxi_check_shape("resize_", t->dtype, shape.ndim, shape.dim, &bytes) != OX_OK) return NULL;
    bool same = shape.ndim == t->ndim;
    for (int d = 0; same && d < t->ndim; d++) same = shape.dim[d] == t->shape[d];
    if (same) return t;
    oxi_meta(&meta, t->dtype, shape.ndim, shape.dim);
    elements = ox_numel(&meta);
    if (elements > 0 && !oxi_add_i64(elements, t->offset, &elements))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "resize_: %s to %s", oxi_tensor_text(t),
                             oxi_shape_text(shape.ndim, shape.dim));
    return oxi_resize_to(t, shape, &meta, elements);
}

OX_API ox_tensor *ox_resize_as_(ox_tensor *t, const ox_tensor *like) {
    if (!like) return OXI_FAIL_NULL(OX_ERR_ARG, "resize_as_: NULL for the tensor that it is like");
    return ox_resize_(t, ox_shape_of(like));
}

OX_API ox_tensor *ox_detach_(ox_tensor *t) {
    if (oxi_any_null("detach_", &t, 1)) return NULL;
    const oxi_tape *tape = (const oxi_tape *)t->tape;
    if (tape && tape->parent && !tape->became)
        return OXI_FAIL_NULL(OX_ERR_ARG, "detach_: %s is a view; ox_detach gives another one",
                             oxi_tensor_text(t));
    oxi_take_tape(t, NULL);
    return t;
}

/* ---- by index ------------------------------------------------------------------------------------------ */

static ox_tensor *oxi_put_into(oxi_work *work, ox_tensor *t, ox_tensor *made) {
    bool done = made && ox_copy_(t, made);
    (void)oxi_work_end(work, NULL);
    return done ? t : NULL;
}

OX_API ox_tensor *ox_index_put_(ox_tensor *t, ox_tensor *const *indices, int count, ox_tensor *values,
                                bool accumulate) {
    ox_tensor *in[2] = {t, values};
    if (oxi_any_null("index_put_", in, 2)) return NULL;
    oxi_work work = oxi_work_begin("index_put_");
    return oxi_put_into(&work, t, ox_index_put(t, indices, count, values, accumulate));
}

OX_API ox_tensor *ox_put_(ox_tensor *t, ox_tensor *index, ox_tensor *source, bool accumulate) {
    ox_tensor *in[3] = {t, index, source};
    if (oxi_any_null("put_", in, 3)) return NULL;
    oxi_work work = oxi_work_begin("put_");
    return oxi_put_into(&work, t, ox_put(t, index, source, accumulate));
}
