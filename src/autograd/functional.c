/* Derivatives of functions: products with Jacobians and tangents, Jacobians, second derivatives. The function
 * is run on leaves over the inputs' numbers, so that what the inputs are recorded for stays as it is. */

/* A run of the function. */
typedef struct oxi_derivation {
    oxi_work work;
    bool enabled; /* whether the thread recorded before */
    int count;
    ox_tensor **leaf;  /* of each input */
    ox_tensor *result; /* NULL: an error */
} oxi_derivation;

/* What is made lives until oxi_derivation_end, which has to follow. */
static void oxi_derivation_begin(oxi_derivation *d, const char *name, ox_checked_function function,
                                 void *user, ox_tensor *const *inputs, int count) {
    memset(d, 0, sizeof *d);
    d->enabled = ox_set_grad_enabled(true);
    d->count = count;
    d->work = oxi_work_begin(name);
    const char *wrong = !function               ? "no function"
                        : count < 1             ? "no inputs"
                        : !ox_is_grad_enabled() ? "nothing is recorded in inference mode"
                                                : NULL;
    if (wrong) (void)oxi_fail(OX_ERR_ARG, "%s: %s", name, wrong);
    if (wrong || oxi_any_null(name, inputs, count)) return;
    d->leaf = (ox_tensor **)oxi_calloc((size_t)count, sizeof *d->leaf);
    bool fine = d->leaf != NULL;
    for (int i = 0; i < count && fine; i++)
        fine = (d->leaf[i] = ox_requires_grad_(ox_detach(inputs[i]), true)) != NULL;
    d->result = fine ? function(d->leaf, user) : NULL;
    if (fine && !d->result && ox_error() == OX_OK)
        (void)oxi_fail(OX_ERR_ARG, "%s: the function gave NULL", name);
}

/* What is for the scope outside, without what it was recorded for. */
static ox_tensor *oxi_derivation_keep(ox_tensor *t) {
    return t ? ox_keep(ox_detach(t)) : NULL;
}

static ox_tensor *oxi_derivation_end(oxi_derivation *d, ox_tensor *made, ox_tensor **value) {
    made = oxi_derivation_keep(made);
    if (value) *value = made ? oxi_derivation_keep(d->result) : NULL;
    if (d->leaf) oxi_free(d->leaf, (size_t)d->count * sizeof *d->leaf);
    (void)oxi_work_end(&d->work, NULL);
    (void)ox_set_grad_enabled(d->enabled);
    return made;
}

/* Gradients of y by leaves, zeros where it does not depend on them. */
static ox_status oxi_leaf_gradients(ox_tensor *y, ox_tensor *const *leaf, int count, ox_tensor *vector,
                                    bool create_graph, ox_tensor **grads) {
    ox_grad_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.gradients = vector ? &vector : NULL;
    desc.create_graph = create_graph;
    desc.retain_graph = desc.allow_unused = true;
    for (int i = 0; i < count; i++) grads[i] = NULL;
    ox_status status = ox_requires_grad(y) ? ox_grad(&y, 1, leaf, count, &desc, grads) : OX_OK;
    for (int i = 0; i < count && status == OX_OK; i++)
        if (!grads[i] && !(grads[i] = ox_zeros_like(leaf[i]))) status = ox_error();
    return status;
}

OX_API ox_status ox_vjp(ox_checked_function function, void *user, ox_tensor *const *inputs, int input_count,
                        ox_tensor *vector, ox_tensor **products, ox_tensor **value) {
    oxi_derivation d;
    if (!products) return oxi_fail(OX_ERR_ARG, "vjp: no room for the products");
    oxi_derivation_begin(&d, "vjp", function, user, inputs, input_count);
    ox_status status =
        d.result ? oxi_leaf_gradients(d.result, d.leaf, input_count, vector, false, products) : ox_error();
    for (int i = 0; i < input_count; i++)
        products[i] = status == OX_OK ? oxi_derivation_keep(products[i]) : NULL;
    (void)oxi_derivation_end(&d, status == OX_OK ? d.result : NULL, value);
    return status;
}

/* The gradients by the inputs are linear in the vector u that they are products with, with the Jacobian's
 * transpose: the gradient of those by u, with the tangents for a vector, is the product with the Jacobian. */
OX_API ox_tensor *ox_jvp(ox_checked_function function, void *user, ox_tensor *const *inputs, int input_count,
                         ox_tensor *const *tangents, ox_tensor **value) {
    oxi_derivation d;
    ox_tensor *sum = NULL, *product;
    oxi_derivation_begin(&d, "jvp", function, user, inputs, input_count);
    bool fine = d.result && !oxi_any_null("jvp", tangents, input_count);
    for (int i = 0; i < input_count && fine; i++)
        if (!oxi_same_sizes(tangents[i], inputs[i], -1)) {
            (void)oxi_fail(OX_ERR_SHAPE, "jvp: the tangent %s of input %d, %s", oxi_tensor_text(tangents[i]),
                           i + 1, oxi_tensor_text(inputs[i]));
            fine = false;
        }
    ox_tensor *u = fine ? ox_requires_grad_(ox_zeros_like(ox_detach(d.result)), true) : NULL;
    for (int i = 0; i < input_count && u; i++) {
        ox_tensor *g = NULL;
        if (oxi_leaf_gradients(d.result, &d.leaf[i], 1, u, true, &g) != OX_OK ||
            oxi_leaf_gradients(g, &u, 1, tangents[i], false, &product) != OX_OK)
            u = sum = NULL;
        else
            sum = sum ? ox_add(sum, product) : product;
        if (!sum) break;
    }
    return oxi_derivation_end(&d, u ? sum : NULL, value);
}

/* [numel of y, numel of leaf] of y's elements' gradients, in the shape of both. */
static ox_tensor *oxi_rows_of_gradients(ox_tensor *y, ox_tensor *leaf) {
    int64_t dims[2 * OX_MAX_DIMS], count = ox_numel(y);
    ox_tensor *g = NULL;
    if (y->ndim + leaf->ndim > OX_MAX_DIMS)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "jacobian: %s by %s would have more than %d dims",
                             oxi_tensor_text(y), oxi_tensor_text(leaf), OX_MAX_DIMS);
    memcpy(dims, y->shape, (size_t)y->ndim * sizeof *dims);
    memcpy(dims + y->ndim, leaf->shape, (size_t)leaf->ndim * sizeof *dims);
    oxi_work work = oxi_work_begin("jacobian");
    ox_set_grad_enabled(false);
    ox_tensor *rows = ox_zeros_like(
        ox_expand(ox_unsqueeze(ox_flatten(ox_detach(leaf), 0, -1), 0), OX_SHAPE(count, ox_numel(leaf))));
    bool fine = rows != NULL;
    for (int64_t i = 0; i < count && fine; i++)
        OX_SCOPE {
            ox_tensor *one = ox_zeros(OX_SHAPE(count), y->dtype);
            one = one ? ox_to(one, ox_device_of(y)) : NULL;
            fine = one && ox_fill_(ox_select(one, 0, i), 1);
            one = fine ? ox_reshape(one, ox_shape_of(y)) : NULL;
            fine = one && oxi_leaf_gradients(y, &leaf, 1, one, false, &g) == OX_OK &&
                   ox_copy_(ox_select(rows, 0, i), ox_flatten(g, 0, -1));
        }
    rows = fine ? ox_reshape(rows, ox_shape_from(y->ndim + leaf->ndim, dims)) : NULL;
    ox_set_grad_enabled(true);
    return oxi_work_end(&work, rows);
}

static bool oxi_is_input(const char *name, int which, int count) {
    if (which >= 0 && which < count) return true;
    (void)oxi_fail(OX_ERR_ARG, "%s: input %d of %d", name, which, count);
    return false;
}

OX_API ox_tensor *ox_jacobian(ox_checked_function function, void *user, ox_tensor *const *inputs,
                              int input_count, int which) {
    oxi_derivation d;
    oxi_derivation_begin(&d, "jacobian", function, user, inputs, input_count);
    ox_tensor *made = d.result && oxi_is_input("jacobian", which, input_count)
                          ? oxi_rows_of_gradients(d.result, d.leaf[which])
                          : NULL;
    return oxi_derivation_end(&d, made, NULL);
}

OX_API ox_tensor *ox_hessian(ox_checked_function function, void *user, ox_tensor *const *inputs,
                             int input_count, int first, int second) {
    oxi_derivation d;
    ox_tensor *g = NULL;
    oxi_derivation_begin(&d, "hessian", function, user, inputs, input_count);
    bool fine = d.result && oxi_is_input("hessian", first, input_count) &&
                oxi_is_input("hessian", second, input_count) &&
                oxi_leaf_gradients(d.result, &d.leaf[first], 1, NULL, true, &g) == OX_OK;
    return oxi_derivation_end(&d, fine ? oxi_rows_of_gradients(g, d.leaf[second]) : NULL, NULL);
}
