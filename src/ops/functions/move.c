/* Between devices: the op `to`, pinned tensors, and copies that are not waited for. */

/* Bytes of a contiguous tensor into another. */
static ox_status oxi_move_bytes(ox_tensor *to, const ox_tensor *from, bool waits) {
    return oxi_storage_move(to->storage, oxi_byte_offset(to->dtype, to->offset), from->storage,
                            oxi_byte_offset(from->dtype, from->offset), ox_nbytes(from), waits);
}

/* A tensor in memory of the host that is pinned for `device`, or in ordinary memory where there is none. */
static ox_tensor *oxi_tensor_pinned(ox_device *device, ox_dtype dtype, int ndim, const int64_t *shape) {
    size_t bytes = 0;
    ox_tensor meta;
    if (oxi_check_shape("tensor", dtype, ndim, shape, &bytes) != OX_OK) return NULL;
    ox_storage *storage = oxi_storage_pinned(device, bytes);
    if (!storage) return oxi_tensor_new(ox_cpu(), dtype, ndim, shape);
    oxi_meta(&meta, dtype, ndim, shape);
    ox_tensor *t = oxi_tensor_over(storage, &meta);
    oxi_storage_release(storage);
    return t;
}

/* Bytes go through host memory; a strided source is made contiguous on its own device first. */
static ox_tensor *oxi_moved(ox_tensor *t, ox_device *device, bool waits) {
    ox_tensor *from = oxi_contiguous(t);
    if (!from) return NULL;
    ox_tensor *to = device->host && !waits && !t->is_number /* which devices read at once, as they lie */
                        ? oxi_tensor_pinned(ox_device_of(from), from->dtype, from->ndim, from->shape)
                        : oxi_tensor_new(device, from->dtype, from->ndim, from->shape);
    ox_status status = to ? oxi_move_bytes(to, from, waits) : OX_ERR_NOMEM;
    ox_release(from);
    if (status == OX_OK) {
        to->is_number = t->is_number;
        return to;
    }
    ox_release(to);
    return NULL;
}

static ox_status oxi_move_into(ox_tensor *to, ox_tensor *t, bool waits) {
    ox_tensor *from = oxi_contiguous(t);
    ox_status status = from ? oxi_move_bytes(to, from, waits) : ox_error();
    ox_release(from);
    return status;
}

static ox_tensor *oxi_to(const char *name, ox_tensor *t, ox_device *device, bool waits) {
    if (oxi_any_null(name, &t, 1)) return NULL;
    if (!device) return OXI_FAIL_NULL(OX_ERR_DEVICE, "%s: no device", name);
    if (ox_device_of(t) == device) return oxi_same_again(t);
    oxi_attrs attr = oxi_attrs_device();
    attr.device.device = device;
    attr.device.non_blocking = !waits;
    return oxi_apply_1(OXI_OP_to, &attr, t);
}

OX_API ox_tensor *ox_to(ox_tensor *t, ox_device *device) {
    return oxi_to("to", t, device, true);
}

OX_API ox_tensor *ox_to_async(ox_tensor *t, ox_device *device) {
    return oxi_to("to_async", t, device, false);
}

/* ---- into a tensor that is there ----------------------------------------------------------------------- */

static bool oxi_same_bytes(const ox_tensor *a, const ox_tensor *b) {
    bool same = a->dtype == b->dtype && a->ndim == b->ndim && ox_is_contiguous(a) && ox_is_contiguous(b);
    for (int d = 0; same && d < a->ndim; d++) same = a->shape[d] == b->shape[d];
    return same;
}

OX_API ox_tensor *ox_copy_async_(ox_tensor *x, ox_tensor *source) {
    ox_tensor *in[2] = {x, source};
    if (oxi_any_null("copy_async_", in, 2)) return NULL;
    ox_device *to = ox_device_of(x), *from = ox_device_of(source);
    if (oxi_common_device(to, from) || (to->host && !oxi_same_bytes(x, source))) return ox_copy_(x, source);
    if (oxi_same_bytes(x, source)) {
        oxi_attrs attr = oxi_attrs_device();
        attr.device.device = to;
        attr.device.non_blocking = true;
        return oxi_apply_as("copy_async_", OXI_OP_to, &attr, &source, 1, x);
    }
    ox_scope scope = ox_scope_begin();
    ox_tensor *near = ox_to_async(source, to), *result = near ? ox_copy_(x, near) : NULL;
    ox_scope_end(&scope);
    return result;
}

/* ---- pinned tensors ------------------------------------------------------------------------------------ */

OX_API ox_tensor *ox_empty_pinned(ox_shape shape, ox_dtype dtype, ox_device *device) {
    if (!device) return OXI_FAIL_NULL(OX_ERR_ARG, "empty_pinned: no device");
    if (dtype == OX_DTYPE_NONE) dtype = ox_default_dtype();
    return oxi_tensor_pinned(device, dtype, shape.ndim, shape.dim);
}

OX_API bool ox_is_pinned(const ox_tensor *t, const ox_device *device) {
    return t && oxi_storage_is_pinned_for(t->storage, device);
}

OX_API ox_tensor *ox_pin(ox_tensor *t, ox_device *device) {
    if (oxi_any_null("pin", &t, 1)) return NULL;
    if (!device) return OXI_FAIL_NULL(OX_ERR_ARG, "pin: no device");
    if (ox_is_pinned(t, device)) return oxi_same_again(t);
    if (t->is_number) return ox_to(t, ox_cpu());
    ox_tensor *pinned = ox_empty_pinned(ox_shape_of(t), t->dtype, device);
    if (!pinned) return NULL;
    if (ox_copy_async_(pinned, t)) return pinned;
    ox_release(pinned);
    return NULL;
}

OX_API bool ox_is_ready(const ox_tensor *t) {
    if (!t || !t->storage->pin || oxi_atomic_load(&t->storage->pin->pending) == 0) return true;
    const oxi_pin *pin = t->storage->pin;
    oxi_event last = pin->device->pin_event(pin->device, pin->handle);
    return oxi_event_done(&last);
}

OX_API ox_status ox_wait(ox_tensor *t) {
    if (oxi_any_null("wait", &t, 1)) return ox_error();
    return t->storage->pin ? oxi_pin_settle(t->storage->pin) : OX_OK;
}
