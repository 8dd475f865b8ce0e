/* Functions that are made of others, each in one place: they run where those run, and their gradients are
 * those of their parts. Here: elementwise ones. */

/* A function of one tensor, and of two, as an expression. */
#define OXI_MADE_1(name, ...)                        \
    OX_API ox_tensor *ox_##name(ox_tensor *x) {      \
        if (oxi_any_null(#name, &x, 1)) return NULL; \
        oxi_work work = oxi_work_begin(#name);       \
        ox_tensor *made = (__VA_ARGS__);             \
        return oxi_work_end(&work, made);            \
    }
#define OXI_MADE_2(name, ...)                                 \
    OX_API ox_tensor *ox_##name(ox_tensor *a, ox_tensor *b) { \
        ox_tensor *in[2] = {a, b};                            \
        if (oxi_any_null(#name, in, 2)) return NULL;          \
        oxi_work work = oxi_work_begin(#name);                \
        ox_tensor *made = (__VA_ARGS__);                      \
        return oxi_work_end(&work, made);                     \
    }

static ox_shape oxi_no_shape(void) {
    ox_shape shape;
    memset(&shape, 0, sizeof shape);
    return shape;
}

static ox_tuple oxi_tuple_end(oxi_work *work, ox_tensor *a, ox_tensor *b, ox_tensor *c) {
    ox_tuple tuple;
    memset(&tuple, 0, sizeof tuple);
    if (a && b) {
        tuple.t[0] = ox_keep(a);
        tuple.t[1] = ox_keep(b);
        tuple.t[2] = c ? ox_keep(c) : NULL;
    }
    (void)oxi_work_end(work, NULL);
    return tuple;
}

static ox_tuple oxi_no_tuple(void) {
    ox_tuple tuple;
    memset(&tuple, 0, sizeof tuple);
    return tuple;
}

#define OXI_PI_F64 3.14159265358979323846

/* fits; or false and an error about the number that does not. */
static bool oxi_number_fits(const char *name, bool fits, double number) {
    if (!fits) (void)oxi_fail(OX_ERR_ARG, "%s: of %g", name, number);
    return fits;
}

/* Integers and bool as the float that they promote to. */
static ox_tensor *oxi_as_float(ox_tensor *x) {
    if (!x || oxi_info(x->dtype)->cls >= OX_CLASS_FLOAT) return x;
    return x->is_number ? ox_mul(x, ox_number(1)) : ox_cast(x, OX_F32);
}

static bool oxi_is_complex(const ox_tensor *x) {
    return oxi_info(x->dtype)->cls == OX_CLASS_COMPLEX;
}

OXI_MADE_2(fmax, ox_maximum(ox_where(ox_isnan(a), b, a), ox_where(ox_isnan(b), a, b)))
OXI_MADE_2(fmin, ox_minimum(ox_where(ox_isnan(a), b, a), ox_where(ox_isnan(b), a, b)))
OXI_MADE_1(isreal, oxi_is_complex(x) ? ox_eq_number(ox_imag(x), 0)
                                     : oxi_full("isreal", ox_shape_of(x), 1, OX_BOOL, ox_device_of(x)))

static ox_tensor *oxi_sgn(ox_tensor *x) {
    if (!oxi_is_complex(x)) return ox_sign(x);
    ox_tensor *size = ox_abs(x);
    return ox_mul(x, ox_reciprocal(ox_where(ox_eq_number(size, 0), ox_number(1), size)));
}
OXI_MADE_1(sgn, oxi_sgn(x))

/* The integer type with a float's bits. */
static ox_dtype oxi_bits_type(ox_dtype dtype) {
    static const ox_dtype of_bytes[9] = {OX_DTYPE_NONE, OX_I8,         OX_I16,        OX_DTYPE_NONE, OX_I32,
                                         OX_DTYPE_NONE, OX_DTYPE_NONE, OX_DTYPE_NONE, OX_I64};
    return of_bytes[oxi_info(dtype)->block_bytes];
}

static ox_tensor *oxi_signbit(ox_tensor *x) {
    if (x->dtype == OX_BOOL) return ox_zeros_like(x);
    return ox_lt_number(oxi_is_float(x->dtype) ? ox_view_dtype(x, oxi_bits_type(x->dtype)) : x, 0);
}
OXI_MADE_1(signbit, oxi_signbit(x))

OX_API ox_tensor *ox_isclose(ox_tensor *a, ox_tensor *b, double rtol, double atol, bool equal_nan) {
    ox_tensor *in[2] = {a, b};
    if (oxi_any_null("isclose", in, 2) || !oxi_number_fits("isclose", rtol >= 0, rtol) ||
        !oxi_number_fits("isclose", atol >= 0, atol))
        return NULL;
    oxi_work work = oxi_work_begin("isclose");
    ox_tensor *close = ox_eq(a, b);
    if (equal_nan) close = ox_logical_or(close, ox_logical_and(ox_isnan(a), ox_isnan(b)));
    ox_tensor *off = ox_abs(ox_sub(oxi_as_float(a), oxi_as_float(b)));
    ox_tensor *may = ox_add_number(ox_abs(ox_mul_number(oxi_as_float(b), rtol)), atol);
    close = ox_logical_or(close, ox_logical_and(ox_isfinite(off), ox_le(off, may)));
    return oxi_work_end(&work, close);
}

/* re + i im, of f32; f64 is rounded. */
static ox_tensor *oxi_complex_of(ox_tensor *re, ox_tensor *im) {
    ox_tensor *sum = ox_add(re, im), *both[2];
    if (!sum) return NULL;
    both[0] = ox_expand(ox_cast(re, OX_F32), ox_shape_of(sum));
    both[1] = ox_expand(ox_cast(im, OX_F32), ox_shape_of(sum));
    return ox_view_as_complex(ox_stack(both, 2, -1));
}
OXI_MADE_2(complex, oxi_complex_of(a, b))
OXI_MADE_2(polar, oxi_complex_of(ox_mul(a, ox_cos(b)), ox_mul(a, ox_sin(b))))
