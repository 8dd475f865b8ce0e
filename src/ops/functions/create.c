/* Making tensors: each is a FILL call or a copy of the caller's numbers. */

/* Of this thread; NULL and NONE: the CPU, f32. */
static OXI_THREAD_LOCAL ox_device *oxi_thread_device;
static OXI_THREAD_LOCAL ox_dtype oxi_thread_dtype;

OX_API ox_device *ox_default_device(void) {
    return oxi_thread_device ? oxi_thread_device : ox_cpu();
}

OX_API ox_device *ox_set_default_device(ox_device *device) {
    ox_device *previous = ox_default_device();
    oxi_thread_device = device;
    return previous;
}

OX_API ox_device_scope ox_device_scope_begin(ox_device *device) {
    ox_device_scope scope;
    scope.previous = ox_set_default_device(device);
    scope.open = true;
    return scope;
}

OX_API void ox_device_scope_end(ox_device_scope *scope) {
    if (!scope || !scope->open) return;
    scope->open = false;
    (void)ox_set_default_device(scope->previous);
}

OX_API ox_dtype ox_default_dtype(void) {
    return oxi_thread_dtype == OX_DTYPE_NONE ? OX_F32 : oxi_thread_dtype;
}

OX_API ox_status ox_set_default_dtype(ox_dtype dtype) {
    if (dtype != OX_DTYPE_NONE && dtype != OX_F32 && dtype != OX_F64 && dtype != OX_F16 && dtype != OX_BF16)
        return oxi_fail(OX_ERR_DTYPE, "set_default_dtype: %s is not f64, f32, f16 or bf16",
                        ox_dtype_name(dtype));
    oxi_thread_dtype = dtype;
    return OX_OK;
}

static ox_tensor *oxi_named_new(const char *name, ox_device *device, ox_dtype dtype, const ox_shape *shape) {
    bool speaks = oxi_speak(name);
    ox_tensor *result = oxi_tensor_new(device, dtype, shape->ndim, shape->dim);
    oxi_speak_end(speaks);
    return result;
}

/* A call of FILL: all their attributes begin with shape and dtype. `out` is filled, or a new tensor. */
static oxi_call oxi_fill_call_of(const char *name, oxi_op op, oxi_attrs attr, ox_shape shape, ox_dtype dtype,
                                 ox_tensor *out) {
    oxi_call call = oxi_call_of(op, NULL, 0, out);
    call.name = name;
    call.attr = attr;
    call.attr.shape.shape = shape;
    call.attr.shape.dtype = dtype;
    return call;
}

/* name: NULL, the row's. */
static ox_tensor *oxi_fill_new(const char *name, oxi_op op, oxi_attrs attr, ox_shape shape, ox_dtype dtype,
                               ox_device *device, oxi_random_state state) {
    ox_tensor *made = NULL;
    if (device != ox_cpu()) { /* nothing else says where it is to be */
        made = oxi_named_new(name ? name : oxi_op_row_of(op)->name, device, dtype, &shape);
        if (!made) return NULL;
    }
    oxi_call call = oxi_fill_call_of(name, op, attr, shape, dtype, made);
    call.random = state;
    if (oxi_apply(&call) == OX_OK) return call.out[0];
    ox_release(made);
    return NULL;
}

static oxi_random_state oxi_no_random_state(void) {
    oxi_random_state state = {0, 0};
    return state;
}

static oxi_attrs oxi_fill_attrs(double value) {
    oxi_attrs attr = oxi_attrs_fill();
    attr.fill.value = value;
    attr.fill.whole = oxi_whole_bits(value);
    return attr;
}

static ox_dtype oxi_default_dtype(ox_dtype dtype, ox_dtype otherwise) {
    return dtype == OX_DTYPE_NONE ? otherwise : dtype;
}

static ox_tensor *oxi_empty(ox_shape shape, ox_dtype dtype, ox_device *device) {
    if (shape.ndim < 0)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "empty: a shape of more than %d dims", OX_MAX_DIMS);
    return oxi_named_new("empty", device, dtype, &shape);
}
OX_API ox_tensor *ox_empty(ox_shape shape, ox_dtype dtype) {
    return oxi_empty(shape, oxi_default_dtype(dtype, ox_default_dtype()), ox_default_device());
}

static ox_tensor *oxi_full(const char *name, ox_shape shape, double value, ox_dtype dtype,
                           ox_device *device) {
    oxi_random_state none = oxi_no_random_state();
    return oxi_fill_new(name, OXI_OP_fill, oxi_fill_attrs(value), shape, dtype, device, none);
}
OX_API ox_tensor *ox_full(ox_shape shape, double value, ox_dtype dtype) {
    return oxi_full("full", shape, value, oxi_default_dtype(dtype, ox_default_dtype()),
                    ox_default_device());
}
OX_API ox_tensor *ox_zeros(ox_shape shape, ox_dtype dtype) {
    return oxi_full("zeros", shape, 0, oxi_default_dtype(dtype, ox_default_dtype()),
                    ox_default_device());
}
OX_API ox_tensor *ox_ones(ox_shape shape, ox_dtype dtype) {
    return oxi_full("ones", shape, 1, oxi_default_dtype(dtype, ox_default_dtype()),
                    ox_default_device());
}

static ox_tensor *oxi_full_like(const char *name, const ox_tensor *t, double value) {
    return oxi_null_model(name, t) ? NULL : oxi_full(name, ox_shape_of(t), value, t->dtype, ox_device_of(t));
}
OX_API ox_tensor *ox_full_like(const ox_tensor *t, double value) {
    return oxi_full_like("full_like", t, value);
}
OX_API ox_tensor *ox_zeros_like(const ox_tensor *t) {
    return oxi_full_like("zeros_like", t, 0);
}
OX_API ox_tensor *ox_ones_like(const ox_tensor *t) {
    return oxi_full_like("ones_like", t, 1);
}
OX_API ox_tensor *ox_empty_like(const ox_tensor *t) {
    if (oxi_null_model("empty_like", t)) return NULL;
    ox_shape shape = ox_shape_of(t);
    return oxi_named_new("empty_like", ox_device_of(t), t->dtype, &shape);
}

/* What is wrong with a ramp; NULL = nothing. Integers are counted in i64 (u64) and keep the low bits. */
static const char *oxi_arange_fault(double start, double end, double step, double count, ox_dtype dtype) {
    if (step == 0) return "the step is 0";
    if (!isfinite(start) || !isfinite(end) || isnan(step)) return "the ends must be finite numbers";
    if (step > 0 ? end < start : end > start) return "the step leads away from the end";
    if (count > 9e15) return "too many numbers";
    ox_dtype wide = dtype == OX_U64 ? OX_U64 : OX_I64;
    double last = count > 1 ? start + (count - 1) * step : start;
    if (oxi_is_int(dtype) && !(oxi_fits_integer(wide, start) && oxi_fits_integer(wide, step) &&
                               oxi_fits_integer(wide, last)))
        return wide == OX_U64 ? "beyond what u64 holds" : "beyond what i64 holds";
    return NULL;
}

static ox_tensor *oxi_arange(double start, double end, double step, ox_dtype dtype, ox_device *device) {
    double count = ceil((end - start) / step);
    bool whole = start == trunc(start) && end == trunc(end) && step == trunc(step) && isfinite(step);
    dtype = oxi_default_dtype(dtype, whole ? OX_I64 : ox_default_dtype());
    const char *fault = oxi_arange_fault(start, end, step, count, dtype);
    if (fault)
        return OXI_FAIL_NULL(OX_ERR_ARG, "arange: from %g to %g by %g: %s", start, end, step, fault);
    oxi_attrs attr = oxi_attrs_ramp();
    attr.ramp.start = start;
    attr.ramp.step = step;
    int64_t size = count > 0 ? (int64_t)count : 0;
    return oxi_fill_new(NULL, OXI_OP_arange, attr, ox_shape_from(1, &size), dtype, device,
                        oxi_no_random_state());
}
OX_API ox_tensor *ox_arange(double start, double end, double step, ox_dtype dtype) {
    return oxi_arange(start, end, step, dtype, ox_default_device());
}

OX_API ox_tensor *ox_linspace(double start, double end, int64_t steps, ox_dtype dtype) {
    oxi_attrs attr = oxi_attrs_ends();
    attr.ends.start = start;
    attr.ends.end = end;
    return oxi_fill_new(NULL, OXI_OP_linspace, attr, ox_shape_from(1, &steps),
                        oxi_default_dtype(dtype, ox_default_dtype()), ox_default_device(),
                        oxi_no_random_state());
}

OX_API ox_tensor *ox_eye(int64_t rows, int64_t columns, ox_dtype dtype) {
    return oxi_fill_new(NULL, OXI_OP_eye, oxi_attrs_shape(), OX_SHAPE(rows, columns),
                        oxi_default_dtype(dtype, ox_default_dtype()), ox_default_device(),
                        oxi_no_random_state());
}

static ox_tensor *oxi_make_number(ox_dtype dtype, const void *value, size_t bytes) {
    ox_tensor *t = oxi_tensor_new(ox_cpu(), dtype, 0, NULL);
    if (!t) return NULL;
    memcpy(t->storage->data, value, bytes);
    t->is_number = true;
    return t;
}
OX_API ox_tensor *ox_number(double value) {
    return oxi_make_number(OX_F64, &value, sizeof value);
}
OX_API ox_tensor *ox_integer(int64_t value) {
    return oxi_make_number(OX_I64, &value, sizeof value);
}

/* ---- scalars ------------------------------------------------------------------------------------------- */

static ox_scalar oxi_scalar(ox_dtype dtype, int64_t integer, double real, double imaginary) {
    ox_scalar scalar;
    scalar.dtype = dtype;
    scalar.integer = integer;
    scalar.real = real;
    scalar.imaginary = imaginary;
    return scalar;
}
OX_API ox_scalar ox_scalar_bool(bool value) { return oxi_scalar(OX_BOOL, value, 0, 0); }
OX_API ox_scalar ox_scalar_int(int64_t value) { return oxi_scalar(OX_I64, value, 0, 0); }
OX_API ox_scalar ox_scalar_uint(uint64_t value) { return oxi_scalar(OX_U64, (int64_t)value, 0, 0); }
OX_API ox_scalar ox_scalar_float(double value) { return oxi_scalar(OX_F64, 0, value, 0); }
OX_API ox_scalar ox_scalar_complex(double real, double imaginary) {
    return oxi_scalar(OX_C64, 0, real, imaginary);
}

OX_API ox_tensor *ox_from_scalar(ox_scalar value) {
    const float parts[2] = {(float)value.real, (float)value.imaginary};
    const uint8_t truth = value.integer != 0;
    switch (value.dtype) {
    case OX_BOOL: return oxi_make_number(OX_BOOL, &truth, sizeof truth);
    case OX_I64:
    case OX_U64: return oxi_make_number(value.dtype, &value.integer, sizeof value.integer);
    case OX_F64: return oxi_make_number(OX_F64, &value.real, sizeof value.real);
    case OX_C64: return oxi_make_number(OX_C64, parts, sizeof parts);
    default:
        return OXI_FAIL_NULL(OX_ERR_ARG, "from_scalar: %s is no kind of a scalar",
                             ox_dtype_name(value.dtype));
    }
}

/* Whether an integer is one of this type; unsigned types take negative ones too, as in oxi_fits_integer. */
static bool oxi_scalar_fits_integer(ox_dtype dtype, ox_scalar value) {
    int bits = 8 * oxi_info(dtype)->block_bytes;
    int64_t integer = value.integer;
    if (value.dtype == OX_U64 && integer < 0) return dtype == OX_U64;
    if (bits == 64) return true;
    int64_t end = (int64_t)1 << (oxi_is_unsigned(dtype) ? bits : bits - 1);
    return integer < end && (oxi_is_unsigned(dtype) ? integer > -end : integer >= -end);
}

/* Whether a tensor of this dtype may be filled with it. */
static bool oxi_scalar_fits(const char *name, ox_dtype dtype, ox_scalar value) {
    bool fits = true, real = value.dtype == OX_F64 || value.dtype == OX_C64;
    if (oxi_is_block(dtype)) {
        (void)oxi_fail(OX_ERR_DTYPE, "%s: not defined for %s", name, ox_dtype_name(dtype));
        return false;
    }
    if (dtype == OX_BOOL || dtype == OX_C64) return true;
    if (value.dtype == OX_C64) fits = value.imaginary == 0;
    if (oxi_is_int(dtype))
        fits = fits && (real ? oxi_fits_integer(dtype, value.real) : oxi_scalar_fits_integer(dtype, value));
    if (fits) return true;
    if (value.dtype == OX_U64)
        (void)oxi_fail(OX_ERR_ARG, "%s: %llu does not fit %s", name, (unsigned long long)value.integer,
                       ox_dtype_name(dtype));
    else if (!real)
        (void)oxi_fail(OX_ERR_ARG, "%s: %lld does not fit %s", name, (long long)value.integer,
                       ox_dtype_name(dtype));
    else
        (void)oxi_fail(OX_ERR_ARG, "%s: %g%+gi does not fit %s", name, value.real, value.imaginary,
                       ox_dtype_name(dtype));
    return false;
}

OX_API ox_tensor *ox_fill_scalar_(ox_tensor *x, ox_scalar value) {
    if (oxi_any_null("fill_scalar_", &x, 1) || !oxi_scalar_fits("fill_scalar_", x->dtype, value)) return NULL;
    oxi_work work = oxi_work_begin("fill_scalar_");
    ox_tensor *number = ox_from_scalar(value);
    ox_tensor *filled = number ? oxi_apply_as("fill_scalar_", OXI_OP_copy, NULL, &number, 1, x) : NULL;
    (void)oxi_work_end(&work, NULL);
    return filled;
}

static ox_tensor *oxi_full_scalar(ox_shape shape, ox_scalar value, ox_dtype dtype, ox_device *device) {
    oxi_work work = oxi_work_begin("full_scalar");
    ox_tensor *made = oxi_empty(shape, dtype, device);
    return oxi_work_end(&work, made ? ox_fill_scalar_(made, value) : NULL);
}
OX_API ox_tensor *ox_full_scalar(ox_shape shape, ox_scalar value, ox_dtype dtype) {
    ox_dtype own = value.dtype == OX_F64 ? ox_default_dtype() : value.dtype;
    return oxi_full_scalar(shape, value, oxi_default_dtype(dtype, own), ox_default_device());
}

/* ---- from the caller's memory -------------------------------------------------------------------------- */

/* On the CPU. */
static ox_tensor *oxi_copied(const void *data, ox_shape shape, ox_dtype dtype) {
    dtype = oxi_default_dtype(dtype, ox_default_dtype());
    ox_tensor *t = oxi_tensor_new(ox_cpu(), dtype, shape.ndim, shape.dim);
    if (!t) return NULL;
    size_t bytes = ox_nbytes(t);
    if (bytes > 0 && !data) {
        ox_release(t);
        return OXI_FAIL_NULL(OX_ERR_ARG, "from_data: no data for %s", oxi_shape_text(shape.ndim, shape.dim));
    }
    if (bytes > 0) memcpy(t->storage->data, data, bytes);
    return t;
}

static ox_tensor *oxi_to_default(ox_tensor *t) {
    return t && ox_default_device() != ox_cpu() ? ox_to(t, ox_default_device()) : t;
}

OX_API ox_tensor *ox_from_data(const void *data, ox_shape shape, ox_dtype dtype) {
    oxi_work work = oxi_work_begin("from_data");
    return oxi_work_end(&work, oxi_to_default(oxi_copied(data, shape, dtype)));
}

static ox_tensor *oxi_from_converted(const char *name, const void *data, ox_shape shape, ox_dtype from,
                                     ox_dtype dtype) {
    ox_dtype to = oxi_default_dtype(dtype, from);
    oxi_work work = oxi_work_begin(name);
    ox_tensor *same = oxi_copied(data, shape, from);
    return oxi_work_end(&work, oxi_to_default(to == from ? same : ox_cast(same, to)));
}
OX_API ox_tensor *ox_from_floats(const float *data, ox_shape shape, ox_dtype dtype) {
    return oxi_from_converted("from_floats", data, shape, OX_F32, dtype);
}
OX_API ox_tensor *ox_from_doubles(const double *data, ox_shape shape, ox_dtype dtype) {
    return oxi_from_converted("from_doubles", data, shape, OX_F64, dtype);
}
OX_API ox_tensor *ox_from_ints(const int64_t *data, ox_shape shape, ox_dtype dtype) {
    return oxi_from_converted("from_ints", data, shape, OX_I64, dtype);
}

OX_API ox_tensor *ox_from_blob(void *data, ox_shape shape, const int64_t *strides, ox_dtype dtype,
                               ox_release_fn release, void *user) {
    size_t bytes = 0;
    ox_dtype type = oxi_default_dtype(dtype, ox_default_dtype());
    if (oxi_check_shape("from_blob", type, shape.ndim, shape.dim, &bytes) != OX_OK) return NULL;
    if (!data && bytes > 0)
        return OXI_FAIL_NULL(OX_ERR_ARG, "from_blob: no memory for %s",
                             oxi_shape_text(shape.ndim, shape.dim));
    if (strides && oxi_is_block(type))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "from_blob: %s has no strides", ox_dtype_name(type));
    ox_tensor meta;
    oxi_meta(&meta, type, shape.ndim, shape.dim);
    int64_t first = 0, last = 0;
    bool fits = true;
    for (int d = 0; strides && d < shape.ndim; d++) {
        int64_t far = 0;
        meta.stride[d] = strides[d];
        fits = fits &&
               (shape.dim[d] == 0 || (oxi_mul_i64(shape.dim[d] - 1, strides[d], &far) &&
                                      oxi_add_i64(far < 0 ? first : last, far, far < 0 ? &first : &last)));
    }
    /* Strides may reach below data: the storage starts at the lowest element. */
    int64_t width = oxi_info(type)->block_bytes, span = 0, span_bytes = 0;
    fits = fits && first > INT64_MIN / 32 && last < INT64_MAX / 32 && oxi_add_i64(last, -first + 1, &span) &&
           oxi_mul_i64(span, width, &span_bytes);
    if (!fits) return OXI_FAIL_NULL(OX_ERR_SHAPE, "from_blob: strides reach beyond memory");
    if (strides && bytes > 0) bytes = (size_t)span_bytes;
    meta.offset = -first;
    if (strides) oxi_settle_strides(&meta);
    ox_storage *storage = oxi_storage_borrow(
        ox_cpu(), bytes > 0 ? (char *)data + first * width : (char *)data, bytes, NULL, NULL);
    if (!storage) return NULL;
    ox_tensor *t = oxi_tensor_over(storage, &meta);
    if (t) { /* only now: a failed from_blob leaves the memory to its owner */
        storage->release = release;
        storage->release_user = user;
        storage->release_data = data;
    }
    oxi_storage_release(storage);
    return t;
}
