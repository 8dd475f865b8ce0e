/* Gradients against finite differences: each number of each input is moved a little both ways, and what a
 * weighted sum of the result changes by is held against the gradient of that sum. Complex numbers are moved
 * along both parts; the gradient of a real sum is d/d(real) + i d/d(imaginary). */

typedef struct oxi_gradcheck {
    ox_checked_function function;
    void *user;
    double eps, absolute, relative;
    ox_tensor *weights;              /* of the result, as real numbers */
} oxi_gradcheck;

/* Complex numbers as pairs. */
static ox_tensor *oxi_as_reals(ox_tensor *t) {
    return t && t->dtype == OX_C64 ? ox_view_as_real(t) : t;
}

/* Numbers about 1 that differ from element to element. */
static ox_tensor *oxi_check_weights(const ox_tensor *y) {
    ox_tensor *ramp = oxi_arange(0, (double)ox_numel(y), 1, OX_F64, ox_cpu());
    ox_tensor *spread = ox_add_number(ox_sin(ox_mul_number(ramp, 1.7)), 1.25);
    spread = ox_cast(ox_reshape(spread, ox_shape_of(y)), y->dtype == OX_F64 ? OX_F64 : OX_F32);
    return ox_to(spread, oxi_working_device(ox_device_of(y)));
}

/* The number whose derivatives are checked; *weights is made where it is NULL. */
static ox_tensor *oxi_weighted_sum(ox_tensor *y, ox_tensor **weights) {
    y = oxi_as_reals(y);
    if (y && !*weights) *weights = oxi_check_weights(y);
    return y && *weights ? ox_sum(ox_mul(y, *weights), OX_ALL_DIMS, false) : NULL;
}

static ox_status oxi_check_value(oxi_gradcheck *c, ox_tensor *const *inputs, double *value) {
    ox_scope scope = ox_scope_begin();
    ox_tensor *sum = oxi_weighted_sum(c->function(inputs, c->user), &c->weights);
    *value = sum ? ox_item(sum) : 0;
    ox_status status = sum ? OX_OK : ox_error();
    ox_scope_end(&scope);
    return status;
}

/* Number i of t, of pairs as two, as a view of no dims. */
static ox_tensor *oxi_number_at(ox_tensor *t, int64_t i) {
    ox_tensor *at = oxi_as_reals(t);
    int64_t left = at ? ox_numel(at) : 1;
    while (at && at->ndim) {
        left /= at->shape[0];
        at = ox_select(at, 0, i / left);
        i %= left;
    }
    return at;
}

/* The derivative by number i of an input, which is moved and put back. */
static ox_status oxi_difference(oxi_gradcheck *c, ox_tensor *const *inputs, ox_tensor *x, int64_t i,
                                double *out) {
    double value[2] = {0, 0};
    ox_status status = OX_OK;
    ox_scope scope = ox_scope_begin();
    ox_tensor *at = oxi_number_at(x, i), *before = at ? ox_clone(at) : NULL;
    for (int side = 0; side < 2 && before && status == OX_OK; side++) {
        ox_tensor *moved = ox_add_number(before, side ? -c->eps : c->eps);
        status = moved && ox_copy_(at, moved) ? oxi_check_value(c, inputs, &value[side]) : ox_error();
    }
    if (!before || !ox_copy_(at, before)) status = ox_error();
    ox_scope_end(&scope);
    *out = (value[0] - value[1]) / (2 * c->eps);
    return status;
}

static ox_status oxi_check_input(oxi_gradcheck *c, ox_tensor *const *inputs, int which, ox_tensor *gradient) {
    ox_tensor *g = oxi_as_reals(gradient), *x = inputs[which];
    ox_status status = OX_OK;
    for (int64_t i = 0; i < ox_numel(g) && status == OX_OK; i++) {
        double expected = 0, got;
        status = oxi_difference(c, inputs, x, i, &expected);
        if (status != OX_OK) return status;
        ox_scope scope = ox_scope_begin();
        got = ox_item(oxi_number_at(gradient, i));
        ox_scope_end(&scope);
        if (!(fabs(got - expected) <= c->absolute + c->relative * fabs(expected)))
            status = oxi_fail(OX_ERR_ARG,
                              "gradcheck: number %lld of input %d, %s: the gradient is %.9g, "
                              "differences give %.9g",
                              (long long)i, which + 1, oxi_tensor_text(x), got, expected);
    }
    return status;
}

/* The gradient of the weighted sum by one input, zeros where it does not depend on it. */
static ox_tensor *oxi_checked_gradient(oxi_gradcheck *c, ox_tensor *const *inputs, int which) {
    ox_grad_desc desc;
    ox_tensor *x = inputs[which], *g = NULL;
    memset(&desc, 0, sizeof desc);
    desc.allow_unused = true;
    bool enabled = ox_set_grad_enabled(true);
    ox_tensor *sum = oxi_weighted_sum(c->function(inputs, c->user), &c->weights);
    ox_retain(c->weights);
    if (sum && ox_requires_grad(sum) && ox_grad(&sum, 1, &x, 1, &desc, &g) != OX_OK) sum = NULL;
    (void)ox_set_grad_enabled(enabled);
    return !sum ? NULL : g ? g : ox_zeros_like(x);
}

static ox_status oxi_check_leaves(ox_tensor *const *inputs, int count) {
    for (int i = 0; i < count; i++) {
        ox_dtype dtype = inputs[i]->dtype;
        if (!ox_requires_grad(inputs[i])) continue;
        if (!ox_is_leaf(inputs[i]))
            return oxi_fail(OX_ERR_ARG, "gradcheck: input %d is no leaf: its numbers cannot be moved", i + 1);
        if (dtype != OX_F64 && dtype != OX_F32 && dtype != OX_C64)
            return oxi_fail(OX_ERR_DTYPE, "gradcheck: input %d is %s; differences want f64, f32 or c64",
                            i + 1, oxi_tensor_text(inputs[i]));
    }
    return OX_OK;
}

OX_API ox_status ox_gradcheck(ox_checked_function function, void *user, ox_tensor *const *inputs,
                              int input_count, const ox_gradcheck_desc *desc) {
    oxi_gradcheck c;
    memset(&c, 0, sizeof c);
    if (!function) return oxi_fail(OX_ERR_ARG, "gradcheck: no function");
    if (oxi_any_null("gradcheck", inputs, input_count)) return ox_error();
    c.function = function;
    c.user = user;
    c.eps = desc && desc->eps > 0 ? desc->eps : 1e-6;
    c.absolute = desc && desc->absolute > 0 ? desc->absolute : 1e-5;
    c.relative = desc && desc->relative > 0 ? desc->relative : 1e-3;
    ox_status status = oxi_check_leaves(inputs, input_count);
    for (int i = 0; i < input_count && status == OX_OK; i++) {
        if (!ox_requires_grad(inputs[i])) continue;
        ox_scope scope = ox_scope_begin();
        ox_tensor *g = oxi_checked_gradient(&c, inputs, i);
        bool enabled = ox_set_grad_enabled(false);
        status = g ? oxi_check_input(&c, inputs, i, g) : ox_error();
        (void)ox_set_grad_enabled(enabled);
        ox_release(c.weights);
        ox_scope_end(&scope);
        c.weights = NULL;
    }
    return status;
}

/* ---- the gradients of gradients ------------------------------------------------------------------------ */

/* Inputs, and behind them the gradient of the result. */
typedef struct oxi_gradgradcheck {
    ox_checked_function function;
    void *user;
    int count;
} oxi_gradgradcheck;

/* The gradients of all inputs that want one, as one row of numbers. */
static ox_tensor *oxi_gradients_in_a_row(ox_tensor *const *inputs, void *user) {
    const oxi_gradgradcheck *c = (const oxi_gradgradcheck *)user;
    ox_tensor *row = NULL, *pair[2], *x, *g, *weights = inputs[c->count];
    ox_grad_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.create_graph = desc.allow_unused = true;
    bool enabled = ox_set_grad_enabled(true);
    ox_tensor *y = c->function(inputs, c->user);
    desc.gradients = &weights;
    for (int i = 0; i < c->count && y; i++) {
        if (!ox_requires_grad(inputs[i])) continue;
        x = inputs[i];
        if (ox_grad(&y, 1, &x, 1, &desc, &g) != OX_OK) y = NULL;
        if (!y || !g) continue;
        pair[0] = row;
        pair[1] = ox_cast(ox_flatten(oxi_as_reals(g), 0, -1), OX_F64);
        row = !row ? pair[1] : ox_cat(pair, 2, 0);
        if (!row) y = NULL;
    }
    (void)ox_set_grad_enabled(enabled);
    return !y ? NULL : row ? row : oxi_full("zeros", OX_SHAPE(1), 0, OX_F64, ox_cpu());
}

OX_API ox_status ox_gradgradcheck(ox_checked_function function, void *user, ox_tensor *const *inputs,
                                  int input_count, const ox_gradcheck_desc *desc) {
    oxi_gradgradcheck c;
    size_t bytes = ((size_t)(input_count > 0 ? input_count : 0) + 1) * sizeof(ox_tensor *);
    if (!function) return oxi_fail(OX_ERR_ARG, "gradgradcheck: no function");
    if (oxi_any_null("gradgradcheck", inputs, input_count)) return ox_error();
    ox_tensor **all = (ox_tensor **)oxi_alloc(bytes);
    if (!all) return OX_ERR_NOMEM;
    ox_scope scope = ox_scope_begin();
    c.function = function;
    c.user = user;
    c.count = input_count;
    for (int i = 0; i < input_count; i++) all[i] = inputs[i];
    ox_tensor *y = function(inputs, user), *spread = y ? oxi_check_weights(oxi_as_reals(ox_detach(y))) : NULL;
    if (spread && y->dtype == OX_C64) spread = ox_view_as_complex(spread);
    all[input_count] = spread ? ox_requires_grad_(ox_cast(spread, y->dtype), true) : NULL;
    ox_status status = all[input_count]
                           ? ox_gradcheck(oxi_gradients_in_a_row, &c, all, input_count + 1, desc)
                           : ox_error();
    ox_scope_end(&scope);
    oxi_free(all, bytes);
    return status;
}
