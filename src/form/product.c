/* Products: matmul, linear and addmm are one form. linear's weight [N,K] is b transposed. */

/* Which operands of a call are which; -1: there is none. */
typedef struct oxi_product_roles {
    int a, b, addend, bias, ids;
    bool transposed; /* b is [N,K] */
} oxi_product_roles;

static oxi_product_roles oxi_product_roles_of(oxi_op op) {
    static const oxi_product_roles plain = {0, 1, -1, -1, -1, false}, layer = {0, 1, -1, 2, -1, true},
                                   added = {1, 2, 0, -1, -1, false}, experts = {0, 1, -1, 3, 2, true};
    const oxi_operand_names *operands = oxi_op_row_of(op)->operands;
    if (operands == &oxi_operands_experts) return experts;
    return operands == &oxi_operands_linear ? layer : operands == &oxi_operands_addmm ? added : plain;
}

/* The stride of leading dim d of `ndim`, counted from the last one, of an operand whose last `own` dims are a
 * matrix or a vector; 0 if broadcast. */
static int64_t oxi_leading_stride(const ox_tensor *t, int own, int ndim, int d) {
    int at = d - (ndim - (t->ndim - own));
    return at < 0 || t->shape[at] == 1 ? 0 : t->stride[at];
}

/* The addend is broadcast to [m,n]; as in torch, with beta 0 its numbers do not matter. */
static void oxi_product_form_add(oxi_product_form *p, const ox_tensor *addend) {
    int n = addend->ndim;
    if (p->beta == 0) return;
    p->t[OXI_PRODUCT_ADDEND] = addend;
    p->row[OXI_PRODUCT_ADDEND] = n > 1 && addend->shape[0] != 1 ? addend->stride[0] : 0;
    p->column[OXI_PRODUCT_ADDEND] = n > 0 && addend->shape[n - 1] != 1 ? addend->stride[n - 1] : 0;
}

static void oxi_product_form_of(const oxi_call *call, oxi_product_form *p) {
    oxi_product_roles roles = oxi_product_roles_of(call->op);
    const ox_tensor *a = call->in[roles.a], *b = call->in[roles.b], *c = call->out[0];
    int own_a = a->ndim > 1 && roles.ids < 0 ? 2 : 1, own_b = b->ndim > 1 ? 2 : 1, own_c = own_a + own_b - 2;
    int summed = b->ndim - (roles.transposed ? 1 : own_b), across = b->ndim - (roles.transposed ? 2 : 1);
    memset(p, 0, sizeof *p);
    p->t[OXI_PRODUCT_C] = c;
    p->t[OXI_PRODUCT_A] = a;
    p->t[OXI_PRODUCT_B] = b;
    p->k = a->shape[a->ndim - 1];
    p->m = own_a == 2 ? a->shape[a->ndim - 2] : 1;
    p->n = own_b == 2 ? b->shape[across] : 1;
    p->row[OXI_PRODUCT_A] = own_a == 2 ? a->stride[a->ndim - 2] : 0;
    p->column[OXI_PRODUCT_A] = a->stride[a->ndim - 1];
    p->row[OXI_PRODUCT_B] = b->stride[summed];
    p->column[OXI_PRODUCT_B] = own_b == 2 ? b->stride[across] : 0;
    p->row[OXI_PRODUCT_C] = own_a == 2 ? c->stride[c->ndim - own_c] : 0;
    p->column[OXI_PRODUCT_C] = own_b == 2 ? c->stride[c->ndim - 1] : 1;
    p->ndim = c->ndim - own_c;
    for (int d = 0; d < p->ndim; d++) {
        p->shape[d] = c->shape[d];
        p->stride[OXI_PRODUCT_C][d] = c->stride[d];
        p->stride[OXI_PRODUCT_A][d] = oxi_leading_stride(a, own_a, p->ndim, d);
        p->stride[OXI_PRODUCT_B][d] = oxi_leading_stride(b, own_b, p->ndim, d);
    }
    p->alpha = 1;
    p->layer = roles.transposed;
    if (roles.ids >= 0) { /* x [R,K] or x [R,N,K], c [R,slots,N] */
        int64_t *of_a = p->stride[OXI_PRODUCT_A], *of_b = p->stride[OXI_PRODUCT_B];
        p->ids = call->in[roles.ids];
        p->expert = b->stride[0];
        of_a[0] = a->stride[0];
        of_a[1] = a->ndim > 2 ? a->stride[1] : 0;
        of_b[0] = of_b[1] = 0;
    }
    if (roles.bias >= 0) {
        p->bias = call->in[roles.bias];
        p->activation = call->attr.activation.activation;
    }
    if (roles.addend >= 0) {
        p->alpha = call->attr.addmm.alpha;
        p->beta = call->attr.addmm.beta;
        oxi_product_form_add(p, call->in[roles.addend]);
    }
}

static void oxi_product_form_join(oxi_product_form *p) {
    while (p->ndim > 0 && !p->ids) {
        int d = p->ndim - 1;
        bool joins = p->stride[OXI_PRODUCT_B][d] == 0;
        for (int side = OXI_PRODUCT_C; side <= OXI_PRODUCT_A; side++)
            joins = joins && (p->m == 1 || p->stride[side][d] == p->m * p->row[side]);
        if (p->shape[d] != 1 && !joins) return;
        for (int side = OXI_PRODUCT_C; side <= OXI_PRODUCT_A && p->m == 1; side++)
            p->row[side] = p->stride[side][d];
        if (p->shape[d] != 1) p->m *= p->shape[d];
        p->ndim--;
    }
}

OXI_UNUSED static double oxi_product_form_flops(const oxi_product_form *p) {
    double each = p->t[OXI_PRODUCT_A]->dtype == OX_C64 ? 8.0 : 2.0;
    return each * (double)ox_numel(p->t[OXI_PRODUCT_C]) * (double)p->k;
}
