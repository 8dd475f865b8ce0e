/* The public products. */

OX_API ox_tensor *ox_matmul(ox_tensor *a, ox_tensor *b) {
    return oxi_apply_2(OXI_OP_matmul, NULL, a, b);
}

OX_API ox_tensor *ox_int_mm(ox_tensor *a, ox_tensor *b) {
    return oxi_apply_2(OXI_OP_int_mm, NULL, a, b);
}

static ox_tensor *oxi_call_linear(const char *name, ox_tensor *x, ox_tensor *w, ox_tensor *bias,
                                  ox_activation activation) {
    ox_tensor *in[3] = {x, w, bias};
    oxi_attrs attr = oxi_attrs_activation();
    attr.activation.activation = activation;
    return oxi_any_null(name, in, 2) ? NULL : oxi_apply_as(name, OXI_OP_linear, &attr, in, 3, NULL);
}

OX_API ox_tensor *ox_linear(ox_tensor *x, ox_tensor *w, ox_tensor *bias) {
    return oxi_call_linear("linear", x, w, bias, OX_ACTIVATION_NONE);
}

OX_API ox_tensor *ox_linear_act(ox_tensor *x, ox_tensor *w, ox_tensor *bias, ox_activation activation) {
    if ((int)activation < OX_ACTIVATION_NONE || (int)activation > OX_ACTIVATION_TANH)
        return OXI_FAIL_NULL(OX_ERR_ARG, "linear_act: activation %d does not exist", (int)activation);
    return oxi_call_linear("linear_act", x, w, bias, activation);
}

OX_API ox_tensor *ox_linear_experts(ox_tensor *x, ox_tensor *w, ox_tensor *experts, ox_tensor *bias) {
    ox_tensor *in[4] = {x, w, experts, bias};
    return oxi_any_null("linear_experts", in, 3) ? NULL
                                                 : oxi_apply_list(OXI_OP_linear_experts, NULL, in, 4, NULL);
}

static oxi_attrs oxi_addmm_attrs(double beta, double alpha) {
    oxi_attrs attr = oxi_attrs_addmm();
    attr.addmm.beta = beta;
    attr.addmm.alpha = alpha;
    return attr;
}
OX_API ox_tensor *ox_addmm(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha) {
    oxi_attrs attr = oxi_addmm_attrs(beta, alpha);
    return oxi_apply_3(OXI_OP_addmm, &attr, c, a, b);
}
OX_API ox_tensor *ox_addmm_(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha) {
    ox_tensor *in[3] = {c, a, b};
    oxi_attrs attr = oxi_addmm_attrs(beta, alpha);
    return oxi_apply_in_place(OXI_OP_addmm, &attr, in, 3);
}

static bool oxi_check_vectors(const char *op, ox_tensor *a, ox_tensor *b) {
    ox_tensor *in[2] = {a, b};
    if (oxi_any_null(op, in, 2)) return false;
    if (a->ndim == 1 && b->ndim == 1) return true;
    (void)oxi_fail(OX_ERR_SHAPE, "%s: operands must be 1-d: %s x %s", op, oxi_tensor_text(a),
                   oxi_tensor_text(b));
    return false;
}

OX_API ox_tensor *ox_outer(ox_tensor *a, ox_tensor *b) {
    if (!oxi_check_vectors("outer", a, b)) return NULL;
    oxi_work work = oxi_work_begin("outer");
    return oxi_work_end(&work, ox_mul(ox_unsqueeze(a, 1), b));
}

OX_API ox_tensor *ox_dot(ox_tensor *a, ox_tensor *b) {
    ox_tensor *in[2] = {a, b};
    return oxi_check_vectors("dot", a, b) ? oxi_apply_as("dot", OXI_OP_matmul, NULL, in, 2, NULL) : NULL;
}
