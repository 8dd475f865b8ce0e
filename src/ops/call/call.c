/* The table of operations in memory, and oxi_apply: the one way every operation takes.
 * Check by the row's rule, make the results (or write into the given one), run on the operands' device.
 * Public functions of ops/ call it; listeners, such as the profiler, see each call before and after it. */

static const oxi_op_row oxi_op_rows[OXI_OP_COUNT] = {
#define OXI_OP(name, family, operands, rule, gives, accepts, flag, flops, attributes, gradient, parts)       \
    {#name, OXI_FAMILY_##family, &oxi_operands_##operands, oxi_rule_##rule, OXI_GIVES_##gives,               \
     OXI_ACCEPT_##accepts, OXI_FLAG_##flag, flops, oxi_attr_members_##attributes, OXI_GRADIENT_##gradient, \
     oxi_parts_##parts},
#include "ops/ops.def"
};

OXI_SMALL const oxi_op_row *oxi_op_row_of(oxi_op op) {
    return &oxi_op_rows[op];
}

/* Of the calls of this thread; the second: autograd records none of them. */
static OXI_THREAD_LOCAL bool oxi_exact, oxi_grad_off;

OX_API void ox_set_exact(bool exact) { oxi_exact = exact; }

static OXI_UNUSED oxi_call oxi_call_of(oxi_op op, ox_tensor *const *in, int in_count, ox_tensor *out) {
    oxi_call call;
    memset(&call, 0, sizeof call);
    call.op = op;
    call.in = in;
    call.in_count = in_count;
    call.out[0] = out;
    call.out_count = 1;
    call.exact = oxi_exact;
    return call;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

/* Operands that the row's `accepts` speaks of one by one: all of a product but experts' numbers, the first
 * one of the others. Of an elementwise op it is the promoted dtype, which the rule checks. */
static bool oxi_accepts_operand(const oxi_op_row *row, int index) {
    if (row->family == OXI_FAMILY_MAP) return false;
    if (row->operands == &oxi_operands_experts) return index < 2;
    if (row->family == OXI_FAMILY_PRODUCT || row->operands->in_count < 0) return true;
    return index == 0;
}

static ox_status oxi_check_operands(const oxi_call *call, const oxi_op_row *row) {
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        if (!t) continue;
        if (oxi_accepts_operand(row, i) && !(oxi_class_bit(t->dtype) & row->accepts))
            return oxi_fail(OX_ERR_DTYPE, "%s: not defined for %s", row->name, oxi_tensor_text(t));
    }
    return OX_OK;
}

/* The device of the operands; numbers may be anywhere, a device's partner beside it. */
static ox_status oxi_find_device(const oxi_call *call, const oxi_op_row *row, ox_device **out) {
    bool moves = row->family == OXI_FAMILY_MOVE; /* into another device's memory, from its own */
    ox_device *device = call->out[0] && !moves ? ox_device_of(call->out[0]) : NULL;
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        if (!t || t->is_number) continue;
        ox_device *common = device ? oxi_common_device(device, ox_device_of(t)) : ox_device_of(t);
        if (!common)
            return oxi_fail(OX_ERR_DEVICE, "%s: operands on %s and %s", row->name, device->name,
                            ox_device_of(t)->name);
        device = common;
    }
    for (int i = 0; i < call->in_count && !device; i++) /* numbers alone: where one was moved to */
        if (call->in[i] && !ox_device_of(call->in[i])->host) device = ox_device_of(call->in[i]);
    *out = oxi_capture && !moves ? oxi_capture : device ? device : ox_cpu();
    return OX_OK;
}

/* ---- overlap ------------------------------------------------------------------------------------------- */

/* First and last element a tensor reaches, as element offsets in its storage. */
static void oxi_reach(const ox_tensor *t, int64_t *first, int64_t *last) {
    *first = *last = t->offset;
    for (int d = 0; d < t->ndim; d++) {
        int64_t far = (t->shape[d] - 1) * t->stride[d];
        if (far < 0)
            *first += far;
        else
            *last += far;
    }
}

static bool oxi_same_layout(const ox_tensor *a, const ox_tensor *b) {
    if (a->ndim != b->ndim || a->offset != b->offset || a->dtype != b->dtype) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d] || (a->shape[d] > 1 && a->stride[d] != b->stride[d])) return false;
    return true;
}

/* Whether writing `out` could change numbers of `t` that are still to be read. */
static bool oxi_overlaps(const ox_tensor *t, const ox_tensor *out) {
    if (!t || t->storage != out->storage || ox_numel(t) == 0 || ox_numel(out) == 0) return false;
    int64_t a0, a1, b0, b1;
    oxi_reach(t, &a0, &a1);
    oxi_reach(out, &b0, &b1);
    size_t t_first = oxi_byte_offset(t->dtype, a0),
           t_end = oxi_byte_offset(t->dtype, a1) + (size_t)oxi_info(t->dtype)->block_bytes;
    size_t o_first = oxi_byte_offset(out->dtype, b0),
           o_end = oxi_byte_offset(out->dtype, b1) + (size_t)oxi_info(out->dtype)->block_bytes;
    return t_first < o_end && o_first < t_end;
}

/* A recurrence's memory on the CPU, where the result has that of the last position: each number is read
 * before it is written. */
static bool oxi_is_own_memory(const oxi_call *call, const oxi_op_row *row, int operand,
                              const ox_tensor *out) {
    const ox_tensor *t = call->in[operand];
    ox_tensor end = *out;
    if (row->family != OXI_FAMILY_RECURRENCE || operand != 4 || out->storage->device != ox_cpu())
        return false;
    end.shape[1] = t->shape[1];
    end.offset += (out->shape[1] - t->shape[1]) * out->stride[1];
    return oxi_same_layout(t, &end);
}

/* An elementwise op may read and write the same element; anything else needs its operands unchanged to the
 * end. */
static bool oxi_needs_detached_result(const oxi_call *call, const oxi_op_row *row, int result,
                                      const ox_tensor *meta) {
    const ox_tensor *out = call->out[result];
    bool elementwise = row->family == OXI_FAMILY_MAP || row->family == OXI_FAMILY_COPY ||
                       row->family == OXI_FAMILY_CHAIN;
    bool widens = row->family == OXI_FAMILY_REDUCE && out->dtype == OX_F32 && oxi_is_float(meta->dtype);
    if (meta->dtype != out->dtype && !elementwise && !widens) return true;
    for (int i = 0; i < result; i++) /* results that share memory: the last one is what stays */
        if (oxi_overlaps(call->out[i], out)) return true;
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        if (!t || !oxi_overlaps(t, out)) continue;
        if (oxi_is_own_memory(call, row, i, out)) continue;
        if (!oxi_same_layout(t, out)) return true;
        if (!elementwise && i > 0) return true;
    }
    return false;
}

/* ---- results ------------------------------------------------------------------------------------------- */

static ox_status oxi_check_given_result(const oxi_op_row *row, const ox_tensor *out, const ox_tensor *meta) {
    if (out->storage->read_only)
        return oxi_fail(OX_ERR_ARG, "%s_: the tensor lies where nothing may be written; clone it first",
                        row->name);
    bool same = meta->ndim == out->ndim;
    for (int d = 0; same && d < out->ndim; d++) same = meta->shape[d] == out->shape[d];
    if (!same)
        return oxi_fail(OX_ERR_SHAPE, "%s_: the result %s does not fit into %s", row->name,
                        oxi_shape_text(meta->ndim, meta->shape), oxi_shape_text(out->ndim, out->shape));
    for (int d = 0; d < out->ndim && ox_numel(out) > 0; d++)
        if (out->shape[d] > 1 && out->stride[d] == 0)
            return oxi_fail(OX_ERR_ARG,
                            "%s_: several elements of an expanded tensor share memory; clone it first",
                            row->name);
    bool casts = row->family == OXI_FAMILY_COPY;
    if (!casts && oxi_info(meta->dtype)->cls > oxi_info(out->dtype)->cls)
        return oxi_fail(OX_ERR_DTYPE, "%s_: a %s result cannot be written into %s", row->name,
                        ox_dtype_name(meta->dtype), ox_dtype_name(out->dtype));
    return OX_OK;
}

/* ---- running ------------------------------------------------------------------------------------------- */

static OXI_THREAD_LOCAL bool oxi_unheard; /* calls within a call: no listener hears them */

static void oxi_drop_results(oxi_call *call, const bool *made) {
    for (int i = 0; i < call->out_count; i++) {
        if (made[i]) ox_release(call->out[i]);
        call->out[i] = NULL;
    }
}

/* A copy that nobody hears, within a call. */
static ox_status oxi_copy_quiet(ox_tensor *to, ox_tensor *from) {
    oxi_call copy = oxi_call_of(OXI_OP_copy, &from, 1, to);
    return oxi_apply_quiet(&copy);
}

/* t as `dtype`; a reference that the open scope has. */
static ox_tensor *oxi_cast_quiet(ox_tensor *t, ox_dtype dtype) {
    if (t->dtype == dtype) return t;
    oxi_call cast = oxi_call_of(OXI_OP_copy, &t, 1, NULL);
    cast.attr = oxi_attrs_dtype();
    cast.attr.dtype.dtype = dtype;
    return oxi_apply_quiet(&cast) == OX_OK ? cast.out[0] : NULL;
}

/* A result of a detour to where it belongs. Runs of bytes need no kernel: a device may lack one for copies of
 * this dtype, whose detour would end here again. */
static ox_status oxi_detour_back(ox_device *device, const oxi_call *call, ox_tensor *out, ox_tensor *host) {
    host = oxi_cast_quiet(host, out->dtype); /* a copy into another dtype */
    if (!host) return ox_error();
    if (ox_is_contiguous(out) && ox_is_contiguous(host))
        return device->write(device, out->storage->data, oxi_byte_offset(out->dtype, out->offset),
                             oxi_ptr(host), ox_nbytes(host));
    if (call->op == OXI_OP_copy)
        return oxi_fail(OX_ERR_UNSUPPORTED, "copy: %s has no kernel for %s to %s in its memory", device->name,
                        oxi_tensor_text(host), oxi_tensor_text(out));
    ox_tensor *there = oxi_moved(host, device, true);
    return there ? oxi_copy_quiet(out, there) : ox_error();
}

/* An operand of a detour in host memory; a number stays one. */
static ox_tensor *oxi_detour_operand(ox_tensor *t) {
    if (ox_device_of(t) == ox_cpu()) return t;
    return oxi_moved(t, ox_cpu(), true);
}

/* A call the device has no kernel for: operands to the CPU, the op there, results back. */
static ox_status oxi_run_detour(ox_device *device, const oxi_call *call) {
    ox_status status = OX_OK;
    ox_scope scope = ox_scope_begin();
    oxi_call host = *call;
    ox_tensor *few[OXI_MAX_IN], **in = few;
    size_t in_bytes = (size_t)call->in_count * sizeof *in;
    if (call->in_count > OXI_MAX_IN) in = (ox_tensor **)oxi_alloc(in_bytes);
    if (!in) status = OX_ERR_NOMEM;
    for (int i = 0; status == OX_OK && i < call->in_count; i++) {
        in[i] = call->in[i] ? oxi_detour_operand(call->in[i]) : NULL;
        if (call->in[i] && !in[i]) status = ox_error();
    }
    host.in = in;
    for (int i = 0; i < OXI_MAX_OUT; i++) host.out[i] = NULL;
    if (status == OX_OK) status = oxi_apply_quiet(&host);
    for (int i = 0; status == OX_OK && i < call->out_count; i++)
        status = oxi_detour_back(device, call, call->out[i], host.out[i]);
    if (in != few) oxi_free(in, in_bytes);
    ox_scope_end(&scope);
    oxi_atomic_add(&oxi_stat_detours, 1);
    oxi_log(OX_LOG_INFO, "%s: runs on the CPU, %s has no kernel for it", oxi_op_row_of(call->op)->name,
            device->name);
    return status;
}

/* Runs the row's parts; the result is one of the open scope's, of any float dtype. */
static ox_tensor *oxi_compute_by_parts(const oxi_call *call, const oxi_op_row *row) {
    bool unheard = oxi_unheard, exact = oxi_exact;
    oxi_unheard = true;
    oxi_exact = call->exact;
    ox_tensor *made = row->parts(call);
    oxi_unheard = unheard;
    oxi_exact = exact;
    return made;
}

static ox_status oxi_run_by_parts(const oxi_call *call) {
    if (ox_numel(call->out[0]) == 0) return OX_OK;
    ox_scope scope = ox_scope_begin();
    ox_tensor *made = oxi_compute_by_parts(call, oxi_op_row_of(call->op));
    ox_status status = made ? oxi_copy_quiet(call->out[0], made) : ox_error();
    ox_scope_end(&scope);
    return status;
}

/* Whether the device computes with numbers like those of the call, so that it has kernels for the parts. One
 * with a partner gives the partner's bits, which parts would not. */
static bool oxi_takes_parts(ox_device *device, const oxi_call *call) {
    if (device->partner || !oxi_op_row_of(call->op)->parts || call->out_count > 1) return false;
    ox_tensor *in[2];
    in[0] = in[1] = call->out[0];
    oxi_call sum = oxi_call_of(OXI_OP_add, in, 2, call->out[0]);
    sum.attr = oxi_attrs_scale();
    return device->supports(device, &sum);
}

/* A call the device has no kernel for: by its parts there, which may want more memory than there is, or on
 * the CPU. */
static ox_status oxi_run_otherwise(ox_device *device, const oxi_call *call) {
    oxi_error earlier;
    if (!oxi_takes_parts(device, call)) return oxi_run_detour(device, call);
    earlier.status = OX_OK;
    oxi_error_move(&earlier); /* what parts say is about themselves */
    ox_status status = oxi_run_by_parts(call);
    if (status == OX_ERR_NOMEM) ox_error_clear();
    oxi_error_put_back(&earlier);
    return status == OX_ERR_NOMEM ? oxi_run_detour(device, call) : status;
}

/* What the device reads and writes lies in the plain layout, but for operands that it takes in another. */
static void oxi_operands_plain(const oxi_call *call) {
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        const oxi_layout *layout = t ? t->storage->layout : NULL;
        if (t && !(layout && layout->takes && layout->takes(call, t))) oxi_storage_plain(t->storage);
    }
    for (int i = 0; i < call->out_count; i++)
        if (call->out[i]) oxi_storage_plain(call->out[i]->storage);
}

/* part: what the device is told if the call is part of another, or NULL. What the device calls for it is
 * nobody's business, whichever thread this is: a step's lanes come here by themselves. */
static ox_status oxi_run_part(ox_device *device, const oxi_call *call, const oxi_part *part) {
    const bool unheard = oxi_unheard;
    oxi_operands_plain(call);
    oxi_unheard = true;
    ox_status status = !device->supports(device, call) ? oxi_run_otherwise(device, call)
                       : part && device->run_part      ? device->run_part(device, call, part)
                                                       : device->run(device, call);
    oxi_unheard = unheard;
    if (status == OX_OK) oxi_atomic_add(&oxi_stat_calls, 1);
    return status;
}

static ox_status oxi_run(ox_device *device, const oxi_call *call) { return oxi_run_part(device, call, NULL); }

/* A fresh result of a call that runs on `device`: there, or on its partner if it is small. */
static ox_tensor *oxi_result_new(ox_device *device, const ox_tensor *meta) {
    size_t bytes = 0;
    if (device->partner) {
        if (oxi_check_shape("tensor", meta->dtype, meta->ndim, meta->shape, &bytes) != OX_OK) return NULL;
        if (bytes <= device->partner_bytes) device = device->partner;
    }
    return oxi_tensor_new(device, meta->dtype, meta->ndim, meta->shape);
}

/* What the parts of a row give, as its rule says. */
static ox_tensor *oxi_result_of_parts(const oxi_call *call, const oxi_op_row *row, ox_device *device,
                                      const ox_tensor *meta) {
    size_t bytes;
    oxi_call inner = *call;
    if (oxi_check_shape(row->name, meta->dtype, meta->ndim, meta->shape, &bytes) != OX_OK) return NULL;
    if (bytes == 0) return oxi_result_new(device, meta);
    oxi_work work = oxi_work_begin(call->name ? call->name : row->name);
    ox_tensor *made = oxi_compute_by_parts(&inner, row);
    if (made) made = oxi_cast_quiet(made, meta->dtype);
    return oxi_work_end(&work, made);
}

/* Runs into fresh tensors where results are `given` and must be apart, and copies those into them. */
static ox_status oxi_run_given(ox_device *device, const oxi_call *call, const oxi_op_row *row,
                               const ox_tensor *meta, const bool *given) {
    oxi_call detached = *call;
    bool apart[OXI_MAX_OUT] = {false};
    ox_status status = OX_OK;
    for (int i = 0; i < call->out_count; i++) {
        apart[i] = given[i] && oxi_needs_detached_result(call, row, i, &meta[i]);
        if (!apart[i]) continue;
        detached.out[i] = oxi_result_new(device, &meta[i]);
        if (!detached.out[i]) status = OX_ERR_NOMEM;
    }
    if (status == OX_OK) status = oxi_run(device, &detached);
    for (int i = 0; i < call->out_count; i++) {
        if (!apart[i]) continue;
        if (status == OX_OK) status = oxi_copy_quiet(call->out[i], detached.out[i]);
        ox_release(detached.out[i]);
    }
    return status;
}

static ox_status oxi_make_results(oxi_call *call, const oxi_op_row *row, ox_device *device, ox_tensor *meta,
                                  bool *made) {
    for (int i = 0; i < call->out_count; i++) {
        if (call->out[i]) continue;
        if (row->family == OXI_FAMILY_VIEW)
            call->out[i] = oxi_tensor_over(call->in[0]->storage, &meta[i]);
        else if (row->family == OXI_FAMILY_MOVE)
            call->out[i] = oxi_moved(call->in[0], call->attr.device.device, !call->attr.device.non_blocking);
        else if (row->family == OXI_FAMILY_PARTS)
            call->out[i] = oxi_result_of_parts(call, row, device, &meta[i]);
        else
            call->out[i] = oxi_result_new(device, &meta[i]);
        if (!call->out[i]) return ox_error() != OX_OK ? ox_error() : OX_ERR_NOMEM;
        made[i] = true;
    }
    return OX_OK;
}

/* Everything but the run: what the call is, where it runs, what it gives. */
static ox_status oxi_check_call(oxi_call *call, const oxi_op_row *row, ox_tensor *meta, ox_device **device) {
    ox_status status = oxi_check_operands(call, row);
    if (status == OX_OK) status = oxi_find_device(call, row, device);
    if (status == OX_OK) status = row->rule(call, meta);
    for (int i = 0; i < call->out_count && status == OX_OK; i++)
        if (call->out[i]) status = oxi_check_given_result(row, call->out[i], &meta[i]);
    return status;
}

/* Makes the results and computes them. */
static ox_status oxi_execute(oxi_call *call, const oxi_op_row *row, ox_tensor *meta, ox_device *device) {
    bool made[OXI_MAX_OUT] = {false}, given[OXI_MAX_OUT], any = false;
    for (int i = 0; i < call->out_count; i++) {
        given[i] = call->out[i] != NULL;
        any = any || given[i];
    }
    ox_status status = oxi_make_results(call, row, device, meta, made);
    if (status == OX_OK && row->family < OXI_FAMILY_COMPUTED)
        status = any ? oxi_run_given(device, call, row, meta, given) : oxi_run(device, call);
    if (status == OX_OK && row->family == OXI_FAMILY_PARTS && any) status = oxi_run_by_parts(call);
    if (status == OX_OK && row->family == OXI_FAMILY_MOVE && any)
        status = oxi_move_into(call->out[0], call->in[0], !call->attr.device.non_blocking);
    for (int i = 0; i < call->out_count && any; i++) /* a part may be written after an error */
        if (given[i]) oxi_atomic_add(&call->out[i]->storage->version, 1);
    if (status != OX_OK) oxi_drop_results(call, made);
    return status;
}

/* ---- who listens --------------------------------------------------------------------------------------- */

enum { OXI_LISTENERS = 8 };
static oxi_lock oxi_listener_lock;
static oxi_listener *oxi_listeners[OXI_LISTENERS]; /* guarded by it; read without it through an atomic */
static int64_t oxi_listener_count;                 /* atomic: places in use */

OXI_UNUSED static bool oxi_listen(oxi_listener *listener) {
    int64_t count;
    bool known = false;
    oxi_lock_take(&oxi_listener_lock);
    count = oxi_atomic_load(&oxi_listener_count);
    for (int i = 0; i < count; i++) known = known || oxi_listeners[i] == listener;
    if (!known && count < OXI_LISTENERS) {
        oxi_listeners[count] = listener;
        oxi_atomic_store(&oxi_listener_count, count + 1);
    }
    oxi_lock_give(&oxi_listener_lock);
    return known || count < OXI_LISTENERS;
}

OXI_UNUSED static void oxi_listen_end(oxi_listener *listener) {
    oxi_lock_take(&oxi_listener_lock);
    int64_t count = oxi_atomic_load(&oxi_listener_count);
    for (int i = 0; i < count; i++) {
        if (oxi_listeners[i] != listener) continue;
        oxi_listeners[i] = oxi_listeners[count - 1];
        oxi_atomic_store(&oxi_listener_count, count - 1);
        break;
    }
    oxi_lock_give(&oxi_listener_lock);
}

/* Those of now; how many. */
static int oxi_listeners_now(oxi_listener **now) {
    oxi_lock_take(&oxi_listener_lock);
    int count = (int)oxi_atomic_load(&oxi_listener_count);
    memcpy(now, oxi_listeners, (size_t)count * sizeof *now);
    oxi_lock_give(&oxi_listener_lock);
    return count;
}

static ox_status oxi_execute_heard(oxi_call *call, const oxi_op_row *row, ox_tensor *meta,
                                     ox_device *device) {
    oxi_listener *now[OXI_LISTENERS];
    int count = oxi_listeners_now(now), heard = 0;
    ox_status status = OX_OK;
    oxi_unheard = true;
    for (; heard < count && status == OX_OK; heard++)
        if (now[heard]->before) status = now[heard]->before(now[heard], call, device);
    if (status == OX_OK) status = oxi_execute(call, row, meta, device);
    for (int i = heard - 1; i >= 0; i--)
        if (now[i]->after) now[i]->after(now[i], call, device, status);
    oxi_unheard = false;
    return status;
}

/* ---- applying ------------------------------------------------------------------------------------------ */

static ox_status oxi_apply_to(oxi_call *call, bool heard) {
    const oxi_op_row *row = oxi_op_row_of(call->op);
    ox_tensor meta[OXI_MAX_OUT];
    ox_device *device = NULL;
    if (row->operands->out_count >= 0) call->out_count = row->operands->out_count;
    bool speaks = oxi_speak_for(call->name ? call->name : row->name, call->out[0] != NULL);
    ox_status status = oxi_check_call(call, row, meta, &device);
    if (heard || device != ox_cpu()) call->together = NULL;
    if (status == OX_OK)
        status =
            heard ? oxi_execute_heard(call, row, meta, device) : oxi_execute(call, row, meta, device);
    oxi_speak_end(speaks);
    return status;
}

static ox_status oxi_apply(oxi_call *call) {
    return oxi_apply_to(call, oxi_atomic_load(&oxi_listener_count) > 0 && !oxi_unheard);
}

static ox_status oxi_apply_quiet(oxi_call *call) {
    return oxi_apply_to(call, false);
}

static void oxi_together_begin(oxi_together *t) {
    while (t->next < t->count && t->status == OX_OK) {
        ox_status status = oxi_apply(&t->calls[t->next++]);
        if (status != OX_OK) t->status = status;
    }
}

static bool oxi_call_runs_there(const oxi_call *call) {
    ox_device *device = ox_device_of(call->in[0]);
    bool host = true, together = true;
    for (int i = 0; i < call->in_count; i++) {
        if (!call->in[i]) continue;
        host = host && ox_device_of(call->in[i])->host;
        together = together && ox_device_of(call->in[i]) == device;
    }
    return host || (together && !device->partner && device->supports(device, call));
}

/* ---- the common shapes of a call ----------------------------------------------------------------------- */

static ox_tensor *oxi_apply_as(const char *name, oxi_op op, const oxi_attrs *attr, ox_tensor *const *in,
                               int count, ox_tensor *out) {
    oxi_call call = oxi_call_of(op, in, count, out);
    call.name = name;
    if (attr) call.attr = *attr;
    return oxi_apply(&call) == OX_OK ? call.out[0] : NULL;
}

static ox_tensor *oxi_apply_list(oxi_op op, const oxi_attrs *attr, ox_tensor *const *in, int count,
                                 ox_tensor *out) {
    return oxi_apply_as(NULL, op, attr, in, count, out);
}

/* NULL gives NULL. It comes from an earlier failure, whose error stands; if there is none, this is the
 * error. */
static bool oxi_any_null(const char *name, ox_tensor *const *in, int count) {
    for (int i = 0; i < count; i++) {
        if (in[i]) continue;
        if (ox_error() == OX_OK) (void)oxi_fail(OX_ERR_ARG, "%s: operand %d is NULL", name, i + 1);
        return true;
    }
    return false;
}

static ox_tensor *oxi_apply_1(oxi_op op, const oxi_attrs *attr, ox_tensor *a) {
    return oxi_any_null(oxi_op_row_of(op)->name, &a, 1) ? NULL : oxi_apply_list(op, attr, &a, 1, NULL);
}

static ox_tensor *oxi_apply_2(oxi_op op, const oxi_attrs *attr, ox_tensor *a, ox_tensor *b) {
    ox_tensor *in[2] = {a, b};
    return oxi_any_null(oxi_op_row_of(op)->name, in, 2) ? NULL : oxi_apply_list(op, attr, in, 2, NULL);
}

static ox_tensor *oxi_apply_3(oxi_op op, const oxi_attrs *attr, ox_tensor *a, ox_tensor *b, ox_tensor *c) {
    ox_tensor *in[3] = {a, b, c};
    return oxi_any_null(oxi_op_row_of(op)->name, in, 3) ? NULL : oxi_apply_list(op, attr, in, 3, NULL);
}

/* The same, written into the first operand. */
static ox_tensor *oxi_apply_in_place(oxi_op op, const oxi_attrs *attr, ox_tensor *const *in, int count) {
    const char *name = oxi_op_row_of(op)->name;
    bool speaks = oxi_speak_for(name, true);
    ox_tensor *out = oxi_any_null(name, in, count) ? NULL : oxi_apply_list(op, attr, in, count, in[0]);
    oxi_speak_end(speaks);
    return out;
}

/* ---- functions that work through others ---------------------------------------------------------------- */

static oxi_work oxi_work_begin(const char *name) {
    oxi_work work;
    work.speaks = oxi_speak(name);
    work.scope = ox_scope_begin();
    return work;
}

static ox_tensor *oxi_work_end(oxi_work *work, ox_tensor *result) {
    ox_keep(result);
    ox_scope_end(&work->scope);
    oxi_speak_end(work->speaks);
    return result;
}
