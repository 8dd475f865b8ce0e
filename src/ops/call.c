/* The table of operations in memory, and oxi_apply: the one way every operation takes.
 * Check by the row's rule, make the results (or write into the given one), run on the operands' device.
 * Public functions of ops/ call it; autograd, capture and the profiler listen at its end. */

static const oxi_op_row oxi_op_rows[OXI_OP_COUNT] = {
#define B OXI_ACCEPT_B
#define I OXI_ACCEPT_I
#define F OXI_ACCEPT_F
#define C OXI_ACCEPT_C
#define Q OXI_ACCEPT_Q
#define INPLACE OXI_FLAG_INPLACE
#define RANDOM OXI_FLAG_RANDOM
#define COND OXI_FLAG_COND
#define OXI_OP(name, family, in, out, rule, accepts, flags, flops, grad) \
    {#name, OXI_FAMILY_##family, in, out, oxi_rule_##rule, accepts, flags, flops},
#include "ops/ops.def"
#undef OXI_OP
#undef B
#undef I
#undef F
#undef C
#undef Q
#undef INPLACE
#undef RANDOM
#undef COND
};

static const oxi_op_row *oxi_op_row_of(oxi_op op) {
    return &oxi_op_rows[op];
}

static OXI_UNUSED oxi_call oxi_call_of(oxi_op op, ox_tensor *const *in, int in_count, ox_tensor *out) {
    oxi_call call;
    memset(&call, 0, sizeof call);
    call.op = op;
    call.in = in;
    call.in_count = in_count;
    call.out[0] = out;
    call.out_count = 1;
    return call;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

/* Operands that the row's `accepts` speaks of one by one: all of a product, the first one of the others. Of
 * an elementwise op it is the promoted dtype, which the rule checks. */
static bool oxi_accepts_operand(const oxi_op_row *row, int index) {
    if (row->family == OXI_FAMILY_MAP) return false;
    if (row->family == OXI_FAMILY_PRODUCT || row->in_count < 0) return true;
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
    ox_device *device = call->out[0] ? ox_device_of(call->out[0]) : NULL;
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        if (!t || t->is_number) continue;
        ox_device *common = device ? oxi_common_device(device, ox_device_of(t)) : ox_device_of(t);
        if (!common)
            return oxi_fail(OX_ERR_DEVICE, "%s: operands on %s and %s", row->name, device->name,
                            ox_device_of(t)->name);
        device = common;
    }
    *out = device ? device : ox_cpu();
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
           t_end = oxi_byte_offset(t->dtype, a1) + (size_t)ox_dtype_of(t->dtype)->block_bytes;
    size_t o_first = oxi_byte_offset(out->dtype, b0),
           o_end = oxi_byte_offset(out->dtype, b1) + (size_t)ox_dtype_of(out->dtype)->block_bytes;
    return t_first < o_end && o_first < t_end;
}

/* An elementwise op may read and write the same element; anything else needs its operands unchanged to the
 * end. */
static bool oxi_needs_detached_result(const oxi_call *call, const oxi_op_row *row, const ox_tensor *meta) {
    const ox_tensor *out = call->out[0];
    bool elementwise = row->family == OXI_FAMILY_MAP || row->family == OXI_FAMILY_COPY ||
                       (row->family == OXI_FAMILY_RANDOM && row->flags & OXI_FLAG_INPLACE);
    if (meta->dtype != out->dtype && row->family != OXI_FAMILY_MAP && row->family != OXI_FAMILY_COPY)
        return true;
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        if (!t || !oxi_overlaps(t, out)) continue;
        if (!oxi_same_layout(t, out)) return true;
        if (!elementwise && i > 0) return true;
    }
    return false;
}

/* ---- results ------------------------------------------------------------------------------------------- */

static ox_status oxi_check_given_result(const oxi_call *call, const oxi_op_row *row, const ox_tensor *meta) {
    const ox_tensor *out = call->out[0];
    if (out->storage->read_only)
        return oxi_fail(OX_ERR_ARG, "%s_: the tensor lies in a file opened for reading; clone it first",
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
    if (row->family != OXI_FAMILY_COPY && ox_dtype_of(meta->dtype)->cls > ox_dtype_of(out->dtype)->cls)
        return oxi_fail(OX_ERR_DTYPE, "%s_: a %s result cannot be written into %s", row->name,
                        ox_dtype_name(meta->dtype), ox_dtype_name(out->dtype));
    return OX_OK;
}

/* ---- running ------------------------------------------------------------------------------------------- */

static void oxi_drop_results(oxi_call *call, const bool *made) {
    for (int i = 0; i < call->out_count; i++) {
        if (made[i]) ox_release(call->out[i]);
        call->out[i] = NULL;
    }
}

/* A result of a detour to where it belongs. Runs of bytes need no kernel: a device may lack one for copies of
 * this dtype, whose detour would end here again. */
static ox_status oxi_detour_back(ox_device *device, const oxi_call *call, ox_tensor *out, ox_tensor *host) {
    if (out->dtype != host->dtype) host = ox_cast(host, out->dtype); /* a copy into another dtype */
    if (!host) return ox_error();
    if (ox_is_contiguous(out) && ox_is_contiguous(host))
        return device->write(device, out->storage->data, oxi_byte_offset(out->dtype, out->offset),
                             oxi_ptr(host), ox_nbytes(host));
    if (call->op == OXI_OP_copy)
        return oxi_fail(OX_ERR_UNSUPPORTED, "copy: %s has no kernel for %s to %s in its memory", device->name,
                        oxi_tensor_text(host), oxi_tensor_text(out));
    return ox_copy_(out, host) ? OX_OK : ox_error();
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
        in[i] = call->in[i] ? ox_to(call->in[i], ox_cpu()) : NULL;
        if (call->in[i] && !in[i]) status = ox_error();
        else if (in[i]) in[i]->is_number = call->in[i]->is_number;
    }
    host.in = in;
    for (int i = 0; i < OXI_MAX_OUT; i++) host.out[i] = NULL;
    if (status == OX_OK) status = oxi_apply(&host);
    for (int i = 0; status == OX_OK && i < call->out_count; i++)
        status = oxi_detour_back(device, call, call->out[i], host.out[i]);
    if (in != few) oxi_free(in, in_bytes);
    ox_scope_end(&scope);
    oxi_atomic_add(&oxi_stat_detours, 1);
    oxi_log(OX_LOG_INFO, "%s: runs on the CPU, %s has no kernel for it", oxi_op_row_of(call->op)->name,
            device->name);
    return status;
}

static ox_status oxi_run(ox_device *device, const oxi_call *call) {
    bool timed = oxi_profiling() && !device->times_calls;
    double start = timed ? oxi_now() : 0;
    ox_status status =
        device->supports(device, call) ? device->run(device, call) : oxi_run_detour(device, call);
    if (status != OX_OK) return status;
    oxi_atomic_add(&oxi_stat_calls, 1);
    if (timed) oxi_profile_add(call, start, oxi_now());
    return OX_OK;
}

/* A fresh result of a call that runs on `device`: there, or on its partner if it is small. */
static ox_tensor *oxi_result_new(ox_device *device, const ox_tensor *meta) {
    size_t bytes = 0;
    if (device->partner) {
        if (oxi_check_shape("tensor", meta->dtype, meta->ndim, meta->shape, &bytes) != OX_OK) return NULL;
        if (bytes <= device->partner_bytes) device = device->partner;
    }
    return oxi_tensor_new(device, meta->dtype, meta->ndim, meta->shape);
}

/* Runs into a fresh tensor and copies that into the given one. */
static ox_status oxi_run_detached(ox_device *device, const oxi_call *call, const ox_tensor *meta) {
    oxi_call detached = *call;
    detached.out[0] = oxi_result_new(device, meta);
    if (!detached.out[0]) return OX_ERR_NOMEM;
    ox_status status = oxi_run(device, &detached);
    if (status == OX_OK && !ox_copy_(call->out[0], detached.out[0])) status = ox_error();
    ox_release(detached.out[0]);
    return status;
}

static ox_status oxi_make_results(oxi_call *call, const oxi_op_row *row, ox_device *device, ox_tensor *meta,
                                  bool *made) {
    for (int i = 0; i < call->out_count; i++) {
        if (call->out[i]) continue;
        call->out[i] = row->family == OXI_FAMILY_VIEW
                           ? oxi_tensor_over(call->in[0]->storage, &meta[i])
                           : oxi_result_new(device, &meta[i]);
        if (!call->out[i]) return OX_ERR_NOMEM;
        made[i] = true;
    }
    return OX_OK;
}

static ox_status oxi_apply(oxi_call *call) {
    const oxi_op_row *row = oxi_op_row_of(call->op);
    bool made[OXI_MAX_OUT] = {false, false}, given = call->out[0] != NULL;
    ox_tensor meta[OXI_MAX_OUT];
    ox_device *device = NULL;
    call->out_count = row->out_count;
    bool speaks = oxi_speak_for(call->attr.name ? call->attr.name : row->name, given);
    ox_status status = oxi_check_operands(call, row);
    if (status == OX_OK) status = oxi_find_device(call, row, &device);
    if (status == OX_OK) status = row->rule(call, meta);
    if (status == OX_OK && given) status = oxi_check_given_result(call, row, &meta[0]);
    if (status == OX_OK) status = oxi_make_results(call, row, device, meta, made);
    if (status == OX_OK && row->family != OXI_FAMILY_VIEW)
        status = given && oxi_needs_detached_result(call, row, &meta[0])
                     ? oxi_run_detached(device, call, &meta[0])
                     : oxi_run(device, call);
    if (status == OX_OK && given) oxi_atomic_add(&call->out[0]->storage->version, 1);
    if (status != OX_OK) oxi_drop_results(call, made);
    oxi_speak_end(speaks);
    return status;
}

/* ---- the common shapes of a call ----------------------------------------------------------------------- */

static ox_tensor *oxi_apply_list(oxi_op op, const oxi_attrs *attr, ox_tensor *const *in, int count,
                                 ox_tensor *out) {
    oxi_call call = oxi_call_of(op, in, count, out);
    if (attr) call.attr = *attr;
    return oxi_apply(&call) == OX_OK ? call.out[0] : NULL;
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

static const char *oxi_called_name(oxi_op op, const oxi_attrs *attr) {
    return attr && attr->name ? attr->name : oxi_op_row_of(op)->name;
}

static ox_tensor *oxi_apply_1(oxi_op op, const oxi_attrs *attr, ox_tensor *a) {
    return oxi_any_null(oxi_called_name(op, attr), &a, 1) ? NULL : oxi_apply_list(op, attr, &a, 1, NULL);
}

static ox_tensor *oxi_apply_2(oxi_op op, const oxi_attrs *attr, ox_tensor *a, ox_tensor *b) {
    ox_tensor *in[2] = {a, b};
    return oxi_any_null(oxi_called_name(op, attr), in, 2) ? NULL : oxi_apply_list(op, attr, in, 2, NULL);
}

static ox_tensor *oxi_apply_3(oxi_op op, const oxi_attrs *attr, ox_tensor *a, ox_tensor *b, ox_tensor *c) {
    ox_tensor *in[3] = {a, b, c};
    return oxi_any_null(oxi_called_name(op, attr), in, 3) ? NULL : oxi_apply_list(op, attr, in, 3, NULL);
}

/* The same, written into the first operand. */
static ox_tensor *oxi_apply_in_place(oxi_op op, const oxi_attrs *attr, ox_tensor *const *in, int count) {
    const char *name = oxi_called_name(op, attr);
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
