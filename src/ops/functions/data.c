/* Copies, dtypes, and numbers to and from the host. */

static ox_tensor *oxi_copy_call(const char *name, ox_tensor *x, ox_dtype dtype) {
    oxi_attrs attr = oxi_attrs_dtype();
    attr.dtype.dtype = dtype;
    return oxi_any_null(name, &x, 1) ? NULL : oxi_apply_as(name, OXI_OP_copy, &attr, &x, 1, NULL);
}

OX_API ox_tensor *ox_clone(ox_tensor *x) {
    return oxi_copy_call("clone", x, OX_DTYPE_NONE);
}

/* t itself as a result: a view of all of it, owned by the scope like any result. */
static ox_tensor *oxi_same_again(ox_tensor *t) {
    ox_tensor *again = oxi_apply_1(OXI_OP_alias, NULL, t);
    if (again) again->is_number = t->is_number;
    return again;
}

OX_API ox_tensor *ox_contiguous(ox_tensor *x) {
    if (oxi_any_null("contiguous", &x, 1)) return NULL;
    return ox_is_contiguous(x) ? oxi_same_again(x) : oxi_copy_call("contiguous", x, OX_DTYPE_NONE);
}

static ox_tensor *oxi_contiguous(ox_tensor *t) {
    if (ox_is_contiguous(t)) return ox_retain(t);
    ox_scope scope = ox_scope_begin();
    ox_tensor *copy = ox_retain(ox_clone(t));
    ox_scope_end(&scope);
    return copy;
}

OX_API ox_tensor *ox_cast(ox_tensor *x, ox_dtype dtype) {
    if (oxi_any_null("cast", &x, 1)) return NULL;
    if (oxi_info(dtype)->cls == OX_CLASS_NONE)
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "cast: dtype %d does not exist", (int)dtype);
    return dtype == x->dtype ? oxi_same_again(x) : oxi_copy_call("cast", x, dtype);
}

OX_API ox_tensor *ox_copy_(ox_tensor *x, ox_tensor *source) {
    ox_tensor *in[2] = {x, source};
    if (oxi_any_null("copy_", in, 2)) return NULL;
    bool number = source->is_number && ox_device_of(source)->host; /* every device takes those */
    if (number || oxi_common_device(ox_device_of(x), ox_device_of(source)))
        return oxi_apply_as("copy_", OXI_OP_copy, NULL, &source, 1, x);
    bool speaks = oxi_speak("copy_");
    ox_scope scope = ox_scope_begin();
    ox_tensor *near = ox_to(source, ox_device_of(x));
    ox_tensor *result = near ? oxi_apply_as("copy_", OXI_OP_copy, NULL, &near, 1, x) : NULL;
    ox_scope_end(&scope);
    oxi_speak_end(speaks);
    return result;
}

/* ---- numbers out --------------------------------------------------------------------------------------- */

/* The bytes of a contiguous tensor, from wherever they are, with no copy between. */
static ox_status oxi_copy_out(ox_tensor *t, void *out, size_t bytes) {
    ox_device *source = ox_device_of(t);
    if (!source->host)
        return source->read(source, t->storage->data, oxi_byte_offset(t->dtype, t->offset), out, bytes);
    memcpy(out, oxi_plain_ptr(t), bytes);
    return OX_OK;
}

/* t as contiguous numbers of `dtype` copied to out. */
static ox_status oxi_export(const char *name, ox_tensor *t, ox_dtype dtype, void *out, size_t bytes) {
    ox_status status = OX_OK;
    bool speaks = oxi_speak(name);
    ox_scope scope = ox_scope_begin();
    ox_tensor *plain = ox_cast(t, dtype);
    plain = plain ? ox_contiguous(plain) : NULL;
    if (!plain)
        status = ox_error();
    else if (bytes != ox_nbytes(plain))
        status =
            oxi_fail(OX_ERR_SHAPE, "to_data: room for %llu bytes, %s has %llu", (unsigned long long)bytes,
                     oxi_tensor_text(plain), (unsigned long long)ox_nbytes(plain));
    else if (bytes > 0)
        status = oxi_copy_out(plain, out, bytes);
    ox_scope_end(&scope);
    oxi_speak_end(speaks);
    return status;
}

static ox_status oxi_export_numbers(const char *name, ox_tensor *t, ox_dtype dtype, void *out, int64_t count,
                                    size_t each) {
    if (oxi_any_null(name, &t, 1)) return ox_error();
    if (count != ox_numel(t))
        return oxi_fail(OX_ERR_SHAPE, "%s: room for %lld numbers, %s has %lld", name, (long long)count,
                        oxi_tensor_text(t), (long long)ox_numel(t));
    if (!out && count > 0) return oxi_fail(OX_ERR_ARG, "%s: no memory for %s", name, oxi_tensor_text(t));
    return oxi_export(name, t, dtype, out, (size_t)count * each);
}

OX_API ox_status ox_to_data(ox_tensor *t, void *out, size_t bytes) {
    if (oxi_any_null("to_data", &t, 1)) return ox_error();
    if (!out && bytes > 0) return oxi_fail(OX_ERR_ARG, "to_data: no memory for %s", oxi_tensor_text(t));
    return oxi_export("to_data", t, t->dtype, out, bytes);
}
OX_API ox_status ox_to_floats(ox_tensor *t, float *out, int64_t count) {
    return oxi_export_numbers("to_floats", t, OX_F32, out, count, sizeof *out);
}
OX_API ox_status ox_to_doubles(ox_tensor *t, double *out, int64_t count) {
    return oxi_export_numbers("to_doubles", t, OX_F64, out, count, sizeof *out);
}
OX_API ox_status ox_to_ints(ox_tensor *t, int64_t *out, int64_t count) {
    return oxi_export_numbers("to_ints", t, OX_I64, out, count, sizeof *out);
}

/* One element, or an error. */
static bool oxi_is_item(const char *name, ox_tensor *t) {
    if (oxi_any_null(name, &t, 1)) return false;
    if (ox_numel(t) == 1) return true;
    (void)oxi_fail(OX_ERR_SHAPE, "%s: %s has %lld elements, not one", name, oxi_tensor_text(t),
                   (long long)ox_numel(t));
    return false;
}

OX_API double ox_item(ox_tensor *t) {
    double value = 0;
    if (!oxi_is_item("item", t)) return 0;
    return oxi_export("item", t, OX_F64, &value, sizeof value) == OX_OK ? value : 0;
}
OX_API int64_t ox_item_int(ox_tensor *t) {
    int64_t value = 0;
    if (!oxi_is_item("item_int", t)) return 0;
    return oxi_export("item_int", t, OX_I64, &value, sizeof value) == OX_OK ? value : 0;
}

/* A number comes out as the widest of its class. */
OX_API ox_scalar ox_item_scalar(ox_tensor *t) {
    ox_scalar value = oxi_scalar(OX_DTYPE_NONE, 0, 0, 0), none = value;
    float parts[2] = {0, 0};
    if (!oxi_is_item("item_scalar", t)) return none;
    ox_dtype_class cls = oxi_info(t->dtype)->cls;
    value.dtype = cls == OX_CLASS_COMPLEX                     ? OX_C64
                  : cls > OX_CLASS_INT                        ? OX_F64
                  : t->dtype == OX_BOOL || t->dtype == OX_U64 ? t->dtype
                                                              : OX_I64;
    ox_dtype read = value.dtype == OX_BOOL ? OX_I64 : value.dtype;
    void *out = read == OX_C64   ? (void *)parts
                : read == OX_F64 ? (void *)&value.real
                                 : (void *)&value.integer;
    if (oxi_export("item_scalar", t, read, out, (size_t)oxi_info(read)->block_bytes) != OX_OK)
        return none;
    if (read == OX_C64) {
        value.real = (double)parts[0];
        value.imaginary = (double)parts[1];
    }
    return value;
}

/* ---- comparing whole tensors --------------------------------------------------------------------------- */

static bool oxi_truth(ox_tensor *all) {
    return all && ox_item(all) != 0;
}

OX_API bool ox_equal(ox_tensor *a, ox_tensor *b) {
    if (!a || !b || a->dtype != b->dtype || a->ndim != b->ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    oxi_work work = oxi_work_begin("equal");
    bool same;
    if (oxi_is_block(a->dtype)) {
        ox_tensor *pa = ox_contiguous(ox_to(a, ox_cpu())), *pb = ox_contiguous(ox_to(b, ox_cpu()));
        same = pa && pb && memcmp(oxi_plain_ptr(pa), oxi_plain_ptr(pb), ox_nbytes(pa)) == 0;
    } else {
        same = oxi_truth(ox_all(ox_eq(a, b), OX_ALL_DIMS, false));
    }
    (void)oxi_work_end(&work, NULL);
    return same;
}

OX_API bool ox_allclose(ox_tensor *a, ox_tensor *b, double rtol, double atol, bool equal_nan) {
    ox_tensor *in[2] = {a, b};
    if (oxi_any_null("allclose", in, 2)) return false;
    oxi_work work = oxi_work_begin("allclose");
    ox_dtype dtype = a->dtype == OX_C64 || b->dtype == OX_C64 ? OX_C64 : OX_F64;
    ox_tensor *x = ox_cast(a, dtype), *y = ox_cast(b, dtype);
    ox_tensor *size = ox_cast(ox_abs(y), OX_F64), *distance = ox_cast(ox_abs(ox_sub(x, y)), OX_F64);
    ox_tensor *bound = ox_add_number(ox_mul_number(size, rtol), atol);
    ox_tensor *near = ox_logical_and(ox_le(distance, bound), ox_isfinite(y));
    ox_tensor *close = ox_logical_or(near, ox_eq(x, y));
    if (equal_nan) close = ox_logical_or(close, ox_logical_and(ox_isnan(x), ox_isnan(y)));
    bool all = oxi_truth(ox_all(close, OX_ALL_DIMS, false));
    (void)oxi_work_end(&work, NULL);
    return all;
}
