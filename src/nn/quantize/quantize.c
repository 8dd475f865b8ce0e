/* Integers of a scale and a zero point: one number of each for a tensor, or tensors that broadcast beside it.
 * */

typedef struct oxi_affine {
    ox_tensor *scale, *inverse, *zero; /* numbers, or [1,C,1..]; f32 */
} oxi_affine;

/* Of one scale; false and an error where it is none. */
static bool oxi_affine_of(const char *name, oxi_affine *a, double scale, int64_t zero_point, double least,
                          double most) {
    if (!(scale > 0 && scale < INFINITY) || (double)zero_point < least || (double)zero_point > most) {
        (void)oxi_fail(OX_ERR_ARG, "%s: scale %g, zero point %lld", name, scale, (long long)zero_point);
        return false;
    }
    a->scale = ox_number((double)(float)scale);
    a->inverse = ox_number((double)(1.0f / (float)scale));
    a->zero = ox_number((double)zero_point);
    return a->scale && a->inverse && a->zero;
}

/* Of one for each position along dim axis of x. */
static bool oxi_affine_along(const char *name, oxi_affine *a, const ox_tensor *x, ox_tensor *scales,
                             ox_tensor *zero_points, int axis) {
    int at = oxi_wrap_dim(name, axis, x->ndim);
    if (at < 0) return false;
    bool fits = x->ndim > 0 && scales->ndim == 1 && zero_points->ndim == 1 &&
                scales->shape[0] == x->shape[at] && zero_points->shape[0] == x->shape[at];
    if (!fits) {
        (void)oxi_fail(OX_ERR_SHAPE, "%s: scales %s, zero points %s of dim %d of %s", name,
                       oxi_tensor_text(scales), oxi_tensor_text(zero_points), at, oxi_tensor_text(x));
        return false;
    }
    ox_shape shape = ox_shape_of(x);
    for (int d = 0; d < shape.ndim; d++) shape.dim[d] = d == at ? x->shape[at] : 1;
    a->scale = ox_reshape(ox_cast(ox_detach(scales), OX_F32), shape);
    a->zero = ox_reshape(ox_cast(ox_detach(zero_points), OX_F32), shape);
    a->inverse = a->scale ? ox_reciprocal(a->scale) : NULL;
    return a->scale && a->inverse && a->zero;
}

static bool oxi_can_quantize(const char *name, const ox_tensor *x) {
    if (oxi_is_float(x->dtype)) return true;
    (void)oxi_fail(OX_ERR_DTYPE, "%s: not defined for %s", name, oxi_tensor_text(x));
    return false;
}

/* round(x / scale) + zero point, not cut; f64 for i32, whose ends are none of f32's numbers. */
static ox_tensor *oxi_affine_round(const oxi_affine *a, ox_tensor *x, bool wide) {
    ox_tensor *steps = ox_round(ox_mul(oxi_wide(x), a->inverse));
    return ox_add(wide && steps ? ox_cast(steps, OX_F64) : steps, a->zero);
}

static ox_tensor *oxi_affine_back(const oxi_affine *a, ox_tensor *q) {
    return ox_mul(ox_sub(q, a->zero), a->scale);
}

/* ---- to integers and back ------------------------------------------------------------------------------ */

/* The numbers of a quantized dtype; false and an error where it is none. */
static bool oxi_quantized_range(const char *name, ox_dtype dtype, double *least, double *most) {
    if (dtype != OX_I8 && dtype != OX_U8 && dtype != OX_I32) {
        (void)oxi_fail(OX_ERR_DTYPE, "%s: to %s, not i8, u8 or i32", name, ox_dtype_name(dtype));
        return false;
    }
    *least = oxi_integer_least(dtype);
    *most = oxi_integer_end(dtype) - 1;
    return true;
}

static ox_tensor *oxi_quantized(oxi_work *work, const oxi_affine *a, ox_tensor *x, ox_dtype dtype,
                                double least, double most) {
    ox_tensor *q = oxi_affine_round(a, ox_detach(x), dtype == OX_I32);
    return oxi_work_end(work, q ? ox_cast(ox_clamp(q, least, most), dtype) : NULL);
}

OX_API ox_tensor *ox_quantize_per_tensor(ox_tensor *x, double scale, int64_t zero_point, ox_dtype dtype) {
    const char *name = "quantize_per_tensor";
    oxi_affine a;
    double least, most;
    if (oxi_any_null(name, &x, 1) || !oxi_can_quantize(name, x) ||
        !oxi_quantized_range(name, dtype, &least, &most))
        return NULL;
    oxi_work work = oxi_work_begin(name);
    if (!oxi_affine_of(name, &a, scale, zero_point, least, most)) return oxi_work_end(&work, NULL);
    return oxi_quantized(&work, &a, x, dtype, least, most);
}

OX_API ox_tensor *ox_quantize_per_channel(ox_tensor *x, ox_tensor *scales, ox_tensor *zero_points, int axis,
                                          ox_dtype dtype) {
    const char *name = "quantize_per_channel";
    ox_tensor *in[3] = {x, scales, zero_points};
    oxi_affine a;
    double least, most;
    if (oxi_any_null(name, in, 3) || !oxi_can_quantize(name, x) ||
        !oxi_quantized_range(name, dtype, &least, &most))
        return NULL;
    oxi_work work = oxi_work_begin(name);
    if (!oxi_affine_along(name, &a, x, scales, zero_points, axis)) return oxi_work_end(&work, NULL);
    return oxi_quantized(&work, &a, x, dtype, least, most);
}

OX_API ox_tensor *ox_dequantize(ox_tensor *q, double scale, int64_t zero_point) {
    oxi_affine a;
    if (oxi_any_null("dequantize", &q, 1)) return NULL;
    if (!oxi_is_int(q->dtype))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "dequantize: not defined for %s", oxi_tensor_text(q));
    oxi_work work = oxi_work_begin("dequantize");
    if (!oxi_affine_of("dequantize", &a, scale, zero_point, -INFINITY, INFINITY))
        return oxi_work_end(&work, NULL);
    return oxi_work_end(&work, oxi_affine_back(&a, ox_cast(q, OX_F32)));
}

OX_API ox_tensor *ox_dequantize_per_channel(ox_tensor *q, ox_tensor *scales, ox_tensor *zero_points,
                                            int axis) {
    ox_tensor *in[3] = {q, scales, zero_points};
    oxi_affine a;
    if (oxi_any_null("dequantize_per_channel", in, 3)) return NULL;
    if (!oxi_is_int(q->dtype))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "dequantize_per_channel: not defined for %s", oxi_tensor_text(q));
    oxi_work work = oxi_work_begin("dequantize_per_channel");
    if (!oxi_affine_along("dequantize_per_channel", &a, q, scales, zero_points, axis))
        return oxi_work_end(&work, NULL);
    return oxi_work_end(&work, oxi_affine_back(&a, ox_cast(q, OX_F32)));
}

/* ---- as if --------------------------------------------------------------------------------------------- */

static ox_status oxi_fake_backward(const ox_function_context *c) {
    ox_tensor *g = c->gradients[0];
    c->input_gradients[0] = g ? ox_where(c->saved[0], g, ox_number(0)) : NULL;
    return g && !c->input_gradients[0] ? ox_error() : OX_OK;
}

/* The tape sees one function of x, which keeps where q was not cut. */
static ox_tensor *oxi_fake_quantized(const oxi_affine *a, ox_tensor *x, int64_t least, int64_t most) {
    static const ox_function function = {"fake_quantize", oxi_fake_backward, NULL};
    bool enabled = ox_set_grad_enabled(false);
    ox_tensor *q = oxi_affine_round(a, x, false);
    ox_tensor *whole = ox_logical_and(ox_ge_number(q, (double)least), ox_le_number(q, (double)most));
    ox_tensor *back = q ? oxi_affine_back(a, ox_clamp(q, (double)least, (double)most)) : NULL;
    ox_tensor *made = back ? ox_cast(back, x->dtype) : NULL;
    (void)ox_set_grad_enabled(enabled);
    if (!made || !whole) return NULL;
    ox_status status = ox_attach_function(&function, NULL, &x, 1, &made, 1, &whole, 1);
    return status == OX_OK ? made : NULL;
}

static bool oxi_fake_range(const char *name, const ox_tensor *x, int64_t least, int64_t most) {
    if (!oxi_can_quantize(name, x)) return false;
    if (least <= most) return true;
    (void)oxi_fail(OX_ERR_ARG, "%s: from %lld to %lld", name, (long long)least, (long long)most);
    return false;
}

OX_API ox_tensor *ox_fake_quantize_per_tensor_affine(ox_tensor *x, double scale, int64_t zero_point,
                                                     int64_t least, int64_t most) {
    const char *name = "fake_quantize_per_tensor_affine";
    oxi_affine a;
    if (oxi_any_null(name, &x, 1) || !oxi_fake_range(name, x, least, most)) return NULL;
    oxi_work work = oxi_work_begin(name);
    bool fits = oxi_affine_of(name, &a, scale, zero_point, (double)least, (double)most);
    return oxi_work_end(&work, fits ? oxi_fake_quantized(&a, x, least, most) : NULL);
}

OX_API ox_tensor *ox_fake_quantize_per_channel_affine(ox_tensor *x, ox_tensor *scales, ox_tensor *zero_points,
                                                      int axis, int64_t least, int64_t most) {
    const char *name = "fake_quantize_per_channel_affine";
    ox_tensor *in[3] = {x, scales, zero_points};
    oxi_affine a;
    if (oxi_any_null(name, in, 3) || !oxi_fake_range(name, x, least, most)) return NULL;
    oxi_work work = oxi_work_begin(name);
    bool fits = oxi_affine_along(name, &a, x, scales, zero_points, axis);
    return oxi_work_end(&work, fits ? oxi_fake_quantized(&a, x, least, most) : NULL);
}
