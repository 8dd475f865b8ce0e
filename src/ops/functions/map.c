/* The public elementwise functions: each fills a call and hands it over.
 * Names and arity come from the same lists as the declarations in ops.h. */

/* ---- one operand, no attributes ------------------------------------------------------------------------ */

#define OXI_UNARY_LIST(X) OX_INPLACE_1(X) X(isnan) X(isinf) X(isfinite)
#define OXI_X(name)                                 \
    OX_API ox_tensor *ox_##name(ox_tensor *x) {     \
        return oxi_apply_1(OXI_OP_##name, NULL, x); \
    }
OXI_UNARY_LIST(OXI_X)
#undef OXI_X
#define OXI_X(name)                                            \
    OX_API ox_tensor *ox_##name##_(ox_tensor *x) {             \
        return oxi_apply_in_place(OXI_OP_##name, NULL, &x, 1); \
    }
OX_INPLACE_1(OXI_X)
#undef OXI_X

/* ---- one operand and up to three numbers --------------------------------------------------------------- */

static ox_tensor *oxi_map_1(oxi_op op, const oxi_attrs *attr, ox_tensor *x, bool in_place) {
    return in_place ? oxi_apply_in_place(op, attr, &x, 1) : oxi_apply_1(op, attr, x);
}

/* Functions of one number, and of two: the members of their attributes. */
#define OXI_NUMBER_1(name, set, a)                                  \
    static ox_tensor *oxi_##name(ox_tensor *x, double a, bool in_place) { \
        oxi_attrs attr = oxi_attrs_##set();                         \
        attr.set.a = a;                                             \
        return oxi_map_1(OXI_OP_##name, &attr, x, in_place);        \
    }                                                               \
    OX_API ox_tensor *ox_##name(ox_tensor *x, double a) {           \
        return oxi_##name(x, a, false);                             \
    }                                                               \
    OX_API ox_tensor *ox_##name##_(ox_tensor *x, double a) {        \
        return oxi_##name(x, a, true);                              \
    }
#define OXI_NUMBER_2(name, set, a, b)                                           \
    static ox_tensor *oxi_##name(ox_tensor *x, double a, double b, bool in_place) { \
        oxi_attrs attr = oxi_attrs_##set();                                     \
        attr.set.a = a;                                                         \
        attr.set.b = b;                                                         \
        return oxi_map_1(OXI_OP_##name, &attr, x, in_place);                    \
    }                                                                           \
    OX_API ox_tensor *ox_##name(ox_tensor *x, double a, double b) {             \
        return oxi_##name(x, a, b, false);                                      \
    }
#define OXI_NUMBER_2_IN_PLACE(name)                                    \
    OX_API ox_tensor *ox_##name##_(ox_tensor *x, double a, double b) { \
        return oxi_##name(x, a, b, true);                              \
    }
OXI_NUMBER_1(leaky_relu, slope, slope)
OXI_NUMBER_1(elu, alpha, alpha)
OXI_NUMBER_1(celu, alpha, alpha)
OXI_NUMBER_2(clamp, range, low, high)
OXI_NUMBER_2_IN_PLACE(clamp)
OXI_NUMBER_2(hardtanh, range, low, high)
OXI_NUMBER_2_IN_PLACE(hardtanh)
OXI_NUMBER_2(threshold, threshold, threshold, value)
OXI_NUMBER_2_IN_PLACE(threshold)
OXI_NUMBER_2(softplus, softplus, beta, threshold)

static ox_tensor *oxi_nan_to_num(ox_tensor *x, bool in_place, double nan, double positive, double negative) {
    double most = x ? oxi_dtype_max(x->dtype) : 0;
    oxi_attrs attr = oxi_attrs_nan_to_num();
    attr.nan_to_num.nan = nan;
    attr.nan_to_num.positive = positive == INFINITY ? most : positive;
    attr.nan_to_num.negative = negative == -INFINITY ? -most : negative;
    return oxi_map_1(OXI_OP_nan_to_num, &attr, x, in_place);
}
OX_API ox_tensor *ox_nan_to_num(ox_tensor *x, double nan, double positive, double negative) {
    return oxi_nan_to_num(x, false, nan, positive, negative);
}
OX_API ox_tensor *ox_nan_to_num_(ox_tensor *x, double nan, double positive, double negative) {
    return oxi_nan_to_num(x, true, nan, positive, negative);
}

/* ---- two operands -------------------------------------------------------------------------------------- */

/* Bit i: operand i is rounded before it is computed with. Kernels compute f16 and bf16 in f32, which holds
 * more of the integers beside them than they do: tensors of integers are rounded to their dtype first, as in
 * torch. Numbers and 0-dim tensors are not, whatever their dtype. What `where` moves is rounded once anyway,
 * and lerp refuses integers. */
static unsigned oxi_rounded_first(oxi_op op, ox_tensor *const *in, int count, bool in_place) {
    unsigned integers = 0;
    bool narrow = false;
    if (op == OXI_OP_where || op == OXI_OP_lerp) return 0;
    for (int i = 0; i < count; i++) {
        bool whole = oxi_is_int(in[i]->dtype) && oxi_info(in[i]->dtype)->block_bytes > 1;
        if (whole && in[i]->ndim > 0 && !(in_place && i == 0)) integers |= 1u << i;
        narrow = narrow || in[i]->dtype == OX_F16 || in[i]->dtype == OX_BF16;
    }
    if (!integers || !narrow) return 0;
    oxi_call call = oxi_call_of(op, in, count, NULL);
    ox_dtype computed = oxi_compute_dtype(&call);
    return computed == OX_F16 || computed == OX_BF16 ? integers : 0;
}

/* A map of operands that are there, into the first one or a new tensor. */
static ox_tensor *oxi_map_any(const char *name, oxi_op op, const oxi_attrs *attr, ox_tensor *const *in,
                              int count, bool in_place) {
    unsigned rounded = oxi_rounded_first(op, in, count, in_place);
    if (!rounded) return oxi_apply_as(name, op, attr, in, count, in_place ? in[0] : NULL);
    oxi_call call = oxi_call_of(op, in, count, NULL);
    ox_dtype computed = oxi_compute_dtype(&call);
    ox_tensor *cast[3] = {NULL, NULL, NULL}, *result = NULL;
    bool made = true;
    oxi_work work = oxi_work_begin(name);
    for (int i = 0; made && i < count; i++) {
        cast[i] = rounded >> i & 1 ? ox_cast(in[i], computed) : in[i];
        made = cast[i] != NULL;
    }
    if (made) result = oxi_apply_as(name, op, attr, cast, count, in_place ? in[0] : NULL);
    (void)oxi_work_end(&work, in_place ? NULL : result);
    return result;
}

static ox_tensor *oxi_map_2(const char *name, oxi_op op, ox_tensor *a, ox_tensor *b, bool in_place,
                            double scale) {
    ox_tensor *in[2] = {a, b};
    oxi_attrs attr = oxi_attrs_scale(); /* of add and sub; the others do not look at it */
    attr.scale.scale = scale;
    if (oxi_any_null(name, in, 2) || !oxi_read_numbers(name, op, in, 2, &attr)) return NULL;
    return oxi_map_any(name, op, &attr, in, 2, in_place);
}

#define OXI_X(name)                                              \
    OX_API ox_tensor *ox_##name(ox_tensor *a, ox_tensor *b) {    \
        return oxi_map_2(#name, OXI_OP_##name, a, b, false, 1);  \
    }                                                            \
    OX_API ox_tensor *ox_##name##_(ox_tensor *a, ox_tensor *b) { \
        return oxi_map_2(#name "_", OXI_OP_##name, a, b, true, 1); \
    }
OX_INPLACE_2(OXI_X)
#undef OXI_X

static ox_tensor *oxi_div_mode(const char *name, ox_tensor *a, ox_tensor *b, const char *mode,
                               bool in_place) {
    bool truncates = mode && strcmp(mode, "trunc") == 0, floors = mode && strcmp(mode, "floor") == 0;
    if (mode && !truncates && !floors)
        return OXI_FAIL_NULL(OX_ERR_ARG, "%s: the rounding mode is NULL, \"trunc\" or \"floor\", not \"%s\"",
                             name, mode);
    oxi_op op = truncates ? OXI_OP_trunc_divide : floors ? OXI_OP_floor_divide : OXI_OP_div;
    return oxi_map_2(name, op, a, b, in_place, 1);
}
OX_API ox_tensor *ox_div_mode(ox_tensor *a, ox_tensor *b, const char *rounding_mode) {
    return oxi_div_mode("div_mode", a, b, rounding_mode, false);
}
OX_API ox_tensor *ox_div_mode_(ox_tensor *a, ox_tensor *b, const char *rounding_mode) {
    return oxi_div_mode("div_mode_", a, b, rounding_mode, true);
}

/* A sum of bool is "or": whole scales are true or false there. Others are refused, as in torch. */
static ox_tensor *oxi_add_scaled(const char *name, ox_tensor *a, ox_tensor *b, bool in_place, double scale) {
    bool truths = a && b && a->dtype == OX_BOOL && b->dtype == OX_BOOL;
    if (truths && scale == trunc(scale)) scale = scale != 0;
    return oxi_map_2(name, OXI_OP_add, a, b, in_place, scale);
}
OX_API ox_tensor *ox_add_scaled(ox_tensor *a, ox_tensor *b, double scale) {
    return oxi_add_scaled("add_scaled", a, b, false, scale);
}
OX_API ox_tensor *ox_add_scaled_(ox_tensor *a, ox_tensor *b, double scale) {
    return oxi_add_scaled("add_scaled_", a, b, true, scale);
}

/* The number as an operand beside `a`. It is of category float; where the result's dtype does not follow from
 * that, a whole one beside integers is an integer. In comparisons only one that they hold: it would wrap. */
static ox_tensor *oxi_number_beside(oxi_op op, const ox_tensor *a, double number, bool in_place) {
    bool compares = oxi_op_row_of(op)->gives == OXI_GIVES_BOOL;
    bool whole = oxi_info(a->dtype)->cls <= OX_CLASS_INT && number == trunc(number) &&
                 oxi_fits_integer(OX_I64, number);
    if (whole && compares && oxi_is_int(a->dtype))
        whole = number < oxi_integer_end(a->dtype) && number >= oxi_integer_least(a->dtype);
    return whole && (compares || in_place) ? ox_integer((int64_t)number) : ox_number(number);
}

/* A number made for one call goes when the call is done. */
static ox_tensor *oxi_map_number(const char *name, oxi_op op, ox_tensor *a, double number, bool in_place,
                                 bool reversed) {
    if (oxi_any_null(name, &a, 1)) return NULL;
    oxi_work work = oxi_work_begin(name);
    ox_tensor *b = oxi_number_beside(op, a, number, in_place);
    ox_tensor *result =
        reversed ? oxi_map_2(name, op, b, a, false, 1) : oxi_map_2(name, op, a, b, in_place, 1);
    (void)oxi_work_end(&work, in_place ? NULL : result);
    return result;
}
#define OXI_X(name)                                                                         \
    OX_API ox_tensor *ox_##name##_number(ox_tensor *a, double number) {                     \
        return oxi_map_number(#name "_number", OXI_OP_##name, a, number, false, false);     \
    }                                                                                       \
    OX_API ox_tensor *ox_##name##_number_(ox_tensor *a, double number) {                    \
        return oxi_map_number(#name "_number_", OXI_OP_##name, a, number, true, false);     \
    }
OX_NUMBER_2(OXI_X)
#undef OXI_X
#define OXI_X(name)                                                                         \
    OX_API ox_tensor *ox_r##name##_number(ox_tensor *a, double number) {                    \
        return oxi_map_number("r" #name "_number", OXI_OP_##name, a, number, false, true);  \
    }
OX_NUMBER_REVERSED(OXI_X)
#undef OXI_X

OX_API ox_tensor *ox_glu(ox_tensor *x, int dim) {
    if (oxi_any_null("glu", &x, 1)) return NULL;
    int d = oxi_wrap_dim("glu", dim, x->ndim);
    if (d < 0) return NULL;
    if (!oxi_is_float(x->dtype))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "glu: not defined for %s", oxi_tensor_text(x));
    if (x->ndim == 0 || x->shape[d] % 2)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "glu: dim %d of %s does not split in halves", d,
                             oxi_tensor_text(x));
    int64_t half = x->shape[d] / 2;
    oxi_work work = oxi_work_begin("glu");
    ox_tensor *a = ox_narrow(x, d, 0, half), *b = ox_narrow(x, d, half, half);
    if (x->dtype == OX_F32 || x->dtype == OX_F64) return oxi_work_end(&work, ox_mul(a, ox_sigmoid(b)));
    /* in f32, rounded once; 8-bit floats go beside no other dtype */
    ox_tensor *in[2], *result = a ? ox_empty_like(a) : NULL;
    in[0] = oxi_is_f8(x->dtype) ? ox_cast(a, OX_F32) : a;
    in[1] = ox_sigmoid_(ox_cast(b, OX_F32));
    bool made = result && in[0] && in[1];
    return oxi_work_end(&work, made ? oxi_apply_list(OXI_OP_mul, NULL, in, 2, result) : NULL);
}

/* ---- complex numbers ----------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_conj(ox_tensor *x) {
    if (oxi_any_null("conj", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("conj");
    ox_tensor *result = ox_clone(x);
    if (result && x->dtype == OX_C64 && !ox_neg_(ox_imag(result))) result = NULL;
    return oxi_work_end(&work, result);
}

/* Of a real number: 0, or pi below 0, without a slope, of NaN too. -0 + 0 is 0, whose angle is 0. */
OX_API ox_tensor *ox_angle(ox_tensor *x) {
    if (oxi_any_null("angle", &x, 1)) return NULL;
    bool pairs = x->dtype == OX_C64;
    oxi_work work = oxi_work_begin("angle");
    ox_tensor *real = pairs ? ox_real(x) : ox_where(ox_isnan(x), ox_number(NAN), ox_add(x, ox_number(0)));
    ox_tensor *imaginary = pairs ? ox_imag(x) : ox_number(0);
    return oxi_work_end(&work, ox_atan2(imaginary, real));
}

/* ---- three operands ------------------------------------------------------------------------------------ */

static ox_tensor *oxi_map_3(oxi_op op, ox_tensor *a, ox_tensor *b, ox_tensor *c, bool in_place,
                            double value) {
    ox_tensor *in[3] = {a, b, c};
    oxi_attrs attr = oxi_attrs_value(); /* of addcmul and addcdiv; the others do not look at it */
    const char *name = oxi_op_row_of(op)->name;
    bool speaks = oxi_speak_for(name, in_place);
    attr.value.value = value;
    ox_tensor *result = oxi_any_null(name, in, 3) ? NULL : oxi_map_any(name, op, &attr, in, 3, in_place);
    oxi_speak_end(speaks);
    return result;
}
OX_API ox_tensor *ox_where(ox_tensor *condition, ox_tensor *a, ox_tensor *b) {
    return oxi_map_3(OXI_OP_where, condition, a, b, false, 0);
}
OX_API ox_tensor *ox_lerp(ox_tensor *a, ox_tensor *b, ox_tensor *weight) {
    return oxi_map_3(OXI_OP_lerp, a, b, weight, false, 0);
}
OX_API ox_tensor *ox_lerp_(ox_tensor *a, ox_tensor *b, ox_tensor *weight) {
    return oxi_map_3(OXI_OP_lerp, a, b, weight, true, 0);
}
OX_API ox_tensor *ox_addcmul(ox_tensor *t, ox_tensor *a, ox_tensor *b, double value) {
    return oxi_map_3(OXI_OP_addcmul, t, a, b, false, value);
}
OX_API ox_tensor *ox_addcmul_(ox_tensor *t, ox_tensor *a, ox_tensor *b, double value) {
    return oxi_map_3(OXI_OP_addcmul, t, a, b, true, value);
}
OX_API ox_tensor *ox_addcdiv(ox_tensor *t, ox_tensor *a, ox_tensor *b, double value) {
    return oxi_map_3(OXI_OP_addcdiv, t, a, b, false, value);
}
OX_API ox_tensor *ox_addcdiv_(ox_tensor *t, ox_tensor *a, ox_tensor *b, double value) {
    return oxi_map_3(OXI_OP_addcdiv, t, a, b, true, value);
}

/* Bounds may be NULL. */
static ox_tensor *oxi_clamp_tensor(const char *name, ox_tensor *x, ox_tensor *low, ox_tensor *high,
                                   bool in_place) {
    ox_tensor *in[3] = {x, low, high};
    if (oxi_any_null(name, in, 1)) return NULL;
    return oxi_apply_as(name, OXI_OP_clamp_tensor, NULL, in, 3, in_place ? x : NULL);
}
OX_API ox_tensor *ox_clamp_tensor(ox_tensor *x, ox_tensor *low, ox_tensor *high) {
    return oxi_clamp_tensor("clamp_tensor", x, low, high, false);
}
OX_API ox_tensor *ox_clamp_tensor_(ox_tensor *x, ox_tensor *low, ox_tensor *high) {
    return oxi_clamp_tensor("clamp_tensor_", x, low, high, true);
}

/* The fill value takes the tensor's dtype, as in torch. */
static ox_tensor *oxi_masked_fill(const char *name, ox_tensor *x, ox_tensor *mask, ox_scalar value,
                                  bool in_place) {
    ox_tensor *in[2] = {x, mask};
    if (oxi_any_null(name, in, 2)) return NULL;
    oxi_work work = oxi_work_begin(name);
    ox_tensor *fill = oxi_full_scalar(OX_SCALAR_SHAPE, value, x->dtype, ox_cpu());
    fill = fill && ox_device_of(x) != ox_cpu() ? ox_to(fill, ox_device_of(x)) : fill;
    ox_tensor *where[3] = {mask, fill, x};
    ox_tensor *result = fill ? oxi_apply_list(OXI_OP_where, NULL, where, 3, in_place ? x : NULL) : NULL;
    (void)oxi_work_end(&work, in_place ? NULL : result);
    return result;
}
/* A double that is not whole is refused beside integers. */
static ox_tensor *oxi_masked_fill_number(const char *name, ox_tensor *x, ox_tensor *mask, double value,
                                         bool in_place) {
    if (x && !oxi_is_float(x->dtype) && x->dtype != OX_C64 && value != trunc(value))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "%s: %g does not fit %s", name, value, oxi_tensor_text(x));
    return oxi_masked_fill(name, x, mask, ox_scalar_float(value), in_place);
}
OX_API ox_tensor *ox_masked_fill(ox_tensor *x, ox_tensor *mask, double value) {
    return oxi_masked_fill_number("masked_fill", x, mask, value, false);
}
OX_API ox_tensor *ox_masked_fill_(ox_tensor *x, ox_tensor *mask, double value) {
    return oxi_masked_fill_number("masked_fill_", x, mask, value, true);
}
OX_API ox_tensor *ox_masked_fill_scalar(ox_tensor *x, ox_tensor *mask, ox_scalar value) {
    return oxi_masked_fill("masked_fill_scalar", x, mask, value, false);
}
OX_API ox_tensor *ox_masked_fill_scalar_(ox_tensor *x, ox_tensor *mask, ox_scalar value) {
    return oxi_masked_fill("masked_fill_scalar_", x, mask, value, true);
}
