/* Operations that are copies of parts: cat, and rows of a table by index (embedding, index_select of dim 0).
 * Called by the device. */

/* compute: the device of the side that is not streamed, or any. */
static ox_status oxi_stream_copy_by(ox_stream *stream, ox_device *compute, ox_tensor *from, ox_tensor *to) {
    oxi_stream_plan plan;
    oxi_call copy = oxi_call_of(OXI_OP_copy, &from, 1, to);
    oxi_plan_open(&plan, compute, &copy);
    return oxi_stream_run_plan(stream, &plan);
}

static ox_status oxi_stream_copy_plan(ox_stream *stream, ox_tensor *from, ox_tensor *to) {
    return oxi_stream_copy_by(stream, stream->desc.compute, from, to);
}

static ox_status oxi_stream_cat(ox_stream *stream, const oxi_call *call) {
    ox_tensor part = oxi_borrowed(call->out[0]);
    int dim = call->attr.along.dim;
    ox_status status = OX_OK;
    for (int i = 0; i < call->in_count && status == OX_OK; i++) {
        if (ox_numel(call->in[i]) == 0) continue;
        part.shape[dim] = call->in[i]->shape[dim];
        status = oxi_stream_copy_plan(stream, call->in[i], &part);
        part.offset += part.shape[dim] * part.stride[dim];
    }
    return status;
}

/* ---- rows by index ------------------------------------------------------------------------------------ */

/* table [V,..] and out [n,..], n rows: dim 0 of the space picks, the others are cut if a row is long. */
static void oxi_space_picked_rows(oxi_stream_plan *plan) {
    ox_tensor *out = &plan->operand[OXI_PLAN_OUT];
    for (int d = 0; d < out->ndim; d++) {
        int at = oxi_space_add(&plan->space, out->shape[d]);
        plan->space.dim[0][at] = plan->space.dim[OXI_PLAN_OUT][at] = d;
    }
    oxi_space_keep_blocks(plan, 0);
    oxi_space_keep_blocks(plan, OXI_PLAN_OUT);
}

/* A first dim, of size 1. */
static void oxi_gather_add_dim(ox_tensor *t) {
    memmove(t->shape + 1, t->shape, (size_t)t->ndim * sizeof *t->shape);
    memmove(t->stride + 1, t->stride, (size_t)t->ndim * sizeof *t->stride);
    t->shape[0] = 1;
    t->stride[0] = 0;
    t->ndim++;
}

static ox_status oxi_stream_pick(ox_stream *stream, const oxi_call *call, const int64_t *rows) {
    oxi_stream_plan plan;
    ox_tensor out = oxi_borrowed(call->out[0]), *table = call->in[0];
    if (out.ndim < table->ndim) oxi_gather_add_dim(&out); /* of one index without dims */
    if (!oxi_plan_join(&out, table->ndim - 1))
        return oxi_fail(OX_ERR_UNSUPPORTED, "%s: rows of a streamed table go to dense results only",
                        oxi_op_row_of(call->op)->name);
    oxi_call copy = oxi_call_of(OXI_OP_copy, &table, 1, &out);
    oxi_plan_operands(&plan, stream->desc.compute, &copy);
    plan.rows = rows;
    plan.flow.unlearned = true;
    oxi_space_picked_rows(&plan);
    return oxi_stream_run_plan(stream, &plan);
}

/* index [..], on the host and checked. */
static ox_status oxi_stream_pick_by(ox_stream *stream, const oxi_call *call, const ox_tensor *index) {
    const char *name = oxi_op_row_of(call->op)->name;
    bool embedding = call->op == OXI_OP_embedding;
    ox_status status = oxi_check_indices(name, index, call->in[0]->shape[0], embedding ? "a table" : "dim 0");
    if (status != OX_OK) return status;
    size_t bytes = (size_t)ox_numel(index) * sizeof(int64_t);
    int64_t *rows = (int64_t *)oxi_alloc(bytes);
    if (!rows) return OX_ERR_NOMEM;
    oxi_load_range(index, 0, ox_numel(index), OXI_LANE_I64, rows);
    status = oxi_stream_pick(stream, call, rows);
    oxi_free(rows, bytes);
    return status;
}

/* A reference to t in RAM, or to a copy there: one that is elsewhere is loaded as a whole, which needs room
 * in the budget and is counted if it is streamed. *near is NULL after an error. */
static ox_status oxi_stream_near(ox_stream *stream, ox_tensor *t, ox_tensor **near) {
    size_t bytes = ox_nbytes(t);
    *near = ox_device_of(t)->host ? ox_retain(t) : NULL;
    if (*near) return OX_OK;
    if (bytes > stream->desc.ram_bytes)
        return oxi_fail(OX_ERR_NOMEM, "the stream's RAM budget has no room for %llu bytes of %s",
                        (unsigned long long)bytes, oxi_tensor_text(t));
    oxi_capacitor_yield(stream, bytes);
    *near = oxi_tensor_new(ox_cpu(), t->dtype, t->ndim, t->shape);
    if (!*near) return OX_ERR_NOMEM;
    stream->stats.whole_loads += oxi_is_streamed(t);
    ox_status status = oxi_is_streamed(t)   ? oxi_stream_copy_by(stream, ox_cpu(), t, *near)
                       : ox_copy_(*near, t) ? OX_OK
                                            : ox_error();
    if (status == OX_OK) return OX_OK;
    ox_release(*near);
    *near = NULL;
    return status;
}

/* An index elsewhere comes to the host. */
static ox_status oxi_stream_rows(ox_stream *stream, const oxi_call *call) {
    ox_tensor *near = NULL;
    ox_status status = oxi_stream_near(stream, call->in[1], &near);
    if (status == OX_OK) status = oxi_stream_pick_by(stream, call, near);
    ox_release(near);
    return status;
}

static bool oxi_stream_picks(const oxi_call *call) {
    bool rows = call->op == OXI_OP_embedding ||
                (call->op == OXI_OP_index_select && call->attr.along.dim == 0 && call->in[0]->ndim > 0);
    return rows && call->in[0]->shape[0] > 0 && ox_numel(call->out[0]) > 0;
}
