/* Gradients of linear algebra. Sources: Giles 2008, "An extended collection of matrix derivative results";
 * Murray 2016 for Cholesky; Townsend 2016 for singular values; Walter and Lehmann 2010 for QR. */

static ox_tensor *oxi_half_diagonal(ox_tensor *x) { /* the lower triangle, with half of the diagonal */
    return ox_mul_number(ox_add(ox_tril(x, 0), ox_tril(x, -1)), 0.5);
}

/* L^-T (half of tril(L^T g)) L^-1, made symmetric. */
OXI_GRADIENT_RULE(cholesky) {
    bool upper = b->call->attr.triangle.upper;
    ox_tensor *l = upper ? oxi_adjoint(b->out[0]) : b->out[0], *g = upper ? oxi_adjoint(b->g[0]) : b->g[0];
    if (!b->g[0]) return OX_OK;
    ox_tensor *turned = oxi_adjoint(l), *middle = oxi_half_diagonal(ox_matmul(turned, g));
    middle = ox_solve_triangular(turned, middle, true, true, false);
    middle = ox_solve_triangular(l, middle, false, false, false);
    return oxi_gives(b, 0, ox_mul_number(ox_add(middle, oxi_adjoint(middle)), 0.5));
}

/* Of a square part: L^-T (tril(l, -1) + triu(u)) U^-T. */
static ox_tensor *oxi_lu_middle(ox_tensor *factors, ox_tensor *lower, ox_tensor *upper) {
    ox_tensor *middle = ox_add(ox_tril(lower, -1), ox_triu(upper, 0));
    middle = ox_solve_triangular(oxi_adjoint(factors), middle, true, true, true);
    return ox_solve_triangular(oxi_adjoint(factors), middle, false, false, false);
}

static ox_tensor *oxi_with_ones(ox_tensor *x) { /* below the diagonal, and ones on it */
    ox_tensor *eye = x ? oxi_eye_beside(x, x->shape[x->ndim - 2]) : NULL;
    return eye ? ox_add(ox_tril(x, -1), ox_narrow(eye, -1, 0, x->shape[x->ndim - 1])) : NULL;
}

OXI_GRADIENT_RULE(lu_factor) {
    ox_tensor *lu = b->out[0], *g = b->g[0], *made, *parts[2];
    if (!g) return OX_OK;
    int64_t m = lu->shape[lu->ndim - 2], n = lu->shape[lu->ndim - 1], k = m < n ? m : n;
    ox_tensor *square = ox_narrow(ox_narrow(lu, -2, 0, k), -1, 0, k), *u = ox_triu(square, 0);
    ox_tensor *l = oxi_with_ones(square);
    ox_tensor *gs = ox_narrow(ox_narrow(g, -2, 0, k), -1, 0, k);
    ox_tensor *lower = ox_matmul(oxi_adjoint(l), ox_tril(gs, -1)),
              *upper = ox_matmul(ox_triu(gs, 0), oxi_adjoint(u));
    if (m < n) { /* U = [U1 U2] */
        ox_tensor *u2 = ox_narrow(lu, -1, k, n - k), *g2 = ox_narrow(g, -1, k, n - k);
        lower = ox_sub(lower, ox_matmul(g2, oxi_adjoint(u2)));
        parts[0] = oxi_lu_middle(square, lower, upper);
        parts[1] = ox_solve_triangular(oxi_adjoint(square), g2, true, true, true);
        made = ox_cat(parts, 2, -1);
    } else if (m > n) { /* L = [L1; L2] */
        ox_tensor *l2 = ox_narrow(lu, -2, k, m - k), *g2 = ox_narrow(g, -2, k, m - k);
        upper = ox_sub(upper, ox_matmul(oxi_adjoint(l2), g2));
        parts[0] = oxi_lu_middle(square, lower, upper);
        parts[1] = ox_solve_triangular(oxi_adjoint(square), g2, false, false, false);
        made = ox_cat(parts, 2, -2);
    } else
        made = oxi_lu_middle(square, lower, upper);
    if (!made || !b->call->attr.pivot.pivot) return oxi_gives(b, 0, made);
    return oxi_gives(b, 0, oxi_with_rows(made, oxi_rows_of_pivots(b->out[1], m, true, lu)));
}

/* a x = b: gb = a^-T g, ga = -gb x^T. */
OXI_GRADIENT_RULE(solve) {
    ox_tensor *gb = ox_solve(oxi_adjoint(b->call->in[0]), b->g[0], true);
    ox_status status = OX_OK;
    if (b->wants[1]) status = oxi_gives(b, 1, gb);
    if (status == OX_OK && b->wants[0])
        status = oxi_gives(b, 0, ox_neg(ox_matmul(gb, oxi_adjoint(b->out[0]))));
    return status;
}

OXI_GRADIENT_RULE(solve_triangular) {
    const oxi_attr_triangular *told = &b->call->attr.triangular;
    ox_tensor *turned = oxi_adjoint(b->call->in[0]), *ga;
    ox_tensor *gb = ox_solve_triangular(turned, b->g[0], !told->upper, !told->right, told->unit);
    ox_status status = OX_OK;
    if (b->wants[1]) status = oxi_gives(b, 1, gb);
    if (status != OX_OK || !b->wants[0]) return status;
    ga = told->right ? ox_matmul(oxi_adjoint(b->out[0]), gb) : ox_matmul(gb, oxi_adjoint(b->out[0]));
    ga = told->upper ? ox_triu(ga, told->unit) : ox_tril(ga, -(int64_t)told->unit);
    return oxi_gives(b, 0, ox_neg(ga));
}

/* (gq + q m) r^-T of square r, m from the lower triangle of r gr^T - gq^T q, mirrored. */
static ox_tensor *oxi_qr_square(ox_tensor *q, ox_tensor *r, ox_tensor *gq, ox_tensor *gr) {
    ox_tensor *m = gr ? ox_matmul(r, oxi_adjoint(gr)) : NULL, *right = gq;
    if (gq) {
        ox_tensor *less = ox_matmul(oxi_adjoint(gq), q);
        m = m ? ox_sub(m, less) : ox_neg(less);
    }
    m = oxi_half_diagonal(m); /* mirrored, with what is real of the diagonal */
    m = ox_add(m, oxi_adjoint(m));
    right = gq ? ox_add(gq, ox_matmul(q, m)) : ox_matmul(q, m);
    return ox_solve_triangular(oxi_adjoint(r), right, false, false, false);
}

OXI_GRADIENT_RULE(qr) {
    ox_tensor *q = b->out[0], *r = b->out[1], *gq = b->g[0], *gr = b->g[1], *parts[2];
    int64_t m = q->shape[q->ndim - 2], n = r->shape[r->ndim - 1], k = r->shape[r->ndim - 2];
    if (k > n)
        return oxi_fail(OX_ERR_UNSUPPORTED, "qr: no gradient of a complete Q with more rows than columns");
    if (m >= n) return oxi_gives(b, 0, oxi_qr_square(q, r, gq, gr));
    ox_tensor *right = ox_narrow(r, -1, m, n - m), *g1 = gr ? ox_narrow(gr, -1, 0, m) : NULL;
    ox_tensor *g2 = gr ? ox_narrow(gr, -1, m, n - m) : NULL;
    parts[1] = g2 ? ox_matmul(q, g2) : ox_zeros_like(right);
    if (g2) { /* a = q [r1 r2]: q moves with its part in the right columns, which are a's own */
        ox_tensor *beside = ox_matmul(ox_matmul(q, right), oxi_adjoint(g2));
        gq = gq ? ox_add(gq, beside) : beside;
    }
    parts[0] = oxi_qr_square(q, ox_narrow(r, -1, 0, m), gq, g1);
    return oxi_gives(b, 0, ox_cat(parts, 2, -1));
}

/* 1 / (x_j - x_i) beside (i, j), 0 on the diagonal. */
static ox_tensor *oxi_inverse_gaps(ox_tensor *x) {
    ox_tensor *gaps = ox_sub(ox_unsqueeze(x, -2), ox_unsqueeze(x, -1));
    if (!gaps) return NULL;
    ox_tensor *eye = oxi_eye_beside(gaps, gaps->shape[gaps->ndim - 1]);
    return ox_sub(ox_reciprocal(ox_add(gaps, eye)), eye);
}

/* V (diag(g) + (V^T gV) / gaps) V^T. */
OXI_GRADIENT_RULE(eigh) {
    ox_tensor *v = b->out[1], *turned = oxi_adjoint(v), *middle = NULL;
    if (b->g[1]) middle = ox_mul(ox_matmul(turned, b->g[1]), oxi_inverse_gaps(b->out[0]));
    if (b->g[0]) {
        ox_tensor *diagonal = ox_diag_embed(b->g[0], 0, -2, -1);
        middle = middle ? ox_add(middle, diagonal) : diagonal;
    }
    middle = ox_matmul(ox_matmul(v, ox_cast(middle, v->dtype)), turned);
    /* only one triangle was read: both get half */
    return oxi_gives(b, 0, ox_mul_number(ox_add(middle, oxi_adjoint(middle)), 0.5));
}

/* g less its part within the columns of q, each over s. */
static ox_tensor *oxi_outside(ox_tensor *q, ox_tensor *g, ox_tensor *s) {
    return oxi_times_columns(ox_sub(g, ox_matmul(q, ox_matmul(oxi_adjoint(q), g))), ox_reciprocal(s));
}

OXI_GRADIENT_RULE(svd) {
    ox_tensor *s = b->out[0], *both = b->out[1], *middle = NULL, *along = NULL, *made;
    int64_t m = b->operand[0].shape[b->operand[0].ndim - 2], n = b->operand[0].shape[b->operand[0].ndim - 1];
    int64_t k = m < n ? m : n;
    ox_tensor *v = ox_narrow(both, -2, 0, n), *u = ox_narrow(both, -2, n, m);
    if (b->g[0]) middle = ox_diag_embed(b->g[0], 0, -2, -1);
    if (b->g[1]) { /* the skew parts of U^T gU and V^T gV over s_j^2 - s_i^2 */
        ox_tensor *gv = ox_narrow(b->g[1], -2, 0, n), *gu = ox_narrow(b->g[1], -2, n, m);
        ox_tensor *gaps = oxi_inverse_gaps(ox_square(s));
        ox_tensor *su = ox_matmul(oxi_adjoint(u), gu), *sv = ox_matmul(oxi_adjoint(v), gv);
        su = ox_sub(su, oxi_adjoint(su));
        if (oxi_is_complex(su)) /* vectors turn against one another, too */
            along = ox_diag_embed(ox_div(ox_diagonal(su, 0, -2, -1), ox_add(s, s)), 0, -2, -1);
        su = oxi_times_columns(ox_mul(su, gaps), s);
        sv = ox_mul(ox_mul(ox_sub(sv, oxi_adjoint(sv)), gaps), ox_unsqueeze(s, -1));
        su = ox_add(su, sv);
        if (along) su = ox_add(su, along);
        middle = middle ? ox_add(middle, su) : su;
        made = ox_matmul(ox_matmul(u, middle), oxi_adjoint(v));
        if (m > k) made = ox_add(made, ox_matmul(oxi_outside(u, gu, s), oxi_adjoint(v)));
        if (n > k) made = ox_add(made, ox_matmul(u, oxi_adjoint(oxi_outside(v, gv, s))));
        return oxi_gives(b, 0, made);
    }
    return oxi_gives(b, 0, ox_matmul(ox_matmul(u, ox_cast(middle, both->dtype)), oxi_adjoint(v)));
}

/* V^-H (diag(g) + (V^H gV - V^H V diag(Re V^H gV)) / conj(gaps)) V^H. */
OXI_GRADIENT_RULE(eig) {
    ox_tensor *v = b->out[1], *turned = oxi_adjoint(v), *middle = NULL;
    if (b->g[1]) {
        ox_tensor *own = ox_matmul(turned, b->g[1]), *along = ox_real(ox_diagonal(own, 0, -2, -1));
        own = ox_sub(own, oxi_times_columns(ox_matmul(turned, v), along));
        middle = ox_mul(own, ox_conj(oxi_inverse_gaps(b->out[0])));
    }
    if (b->g[0]) {
        ox_tensor *diagonal = ox_diag_embed(b->g[0], 0, -2, -1);
        middle = middle ? ox_add(middle, diagonal) : diagonal;
    }
    ox_tensor *made = ox_solve(turned, ox_matmul(middle, turned), true);
    return oxi_gives(b, 0, b->operand[0].dtype == OX_C64 ? made : ox_real(made));
}

/* Golub and Pereyra 1973, in the order that keeps products small; hermitian matrices as any, as in
 * PyTorch. */
OXI_GRADIENT_RULE(pinv) {
    ox_tensor *a = b->call->in[0], *p = b->out[0], *pt = oxi_adjoint(p), *gt = oxi_adjoint(b->g[0]), *made;
    int64_t m = b->operand[0].shape[b->operand[0].ndim - 2], n = b->operand[0].shape[b->operand[0].ndim - 1];
    if (m <= n) {
        ox_tensor *k = ox_matmul(gt, p), *kpt = ox_matmul(k, pt);
        made = ox_sub(kpt, oxi_adjoint(ox_matmul(p, k)));
        made = ox_sub(made, ox_matmul(ox_matmul(a, p), kpt));
        made = ox_add(made, ox_matmul(ox_matmul(pt, p), ox_sub(gt, ox_matmul(k, a))));
    } else {
        ox_tensor *k = ox_matmul(p, gt), *ptk = ox_matmul(pt, k);
        made = ox_sub(ptk, oxi_adjoint(ox_matmul(k, p)));
        made = ox_add(made, ox_matmul(ox_matmul(ox_sub(gt, ox_matmul(a, k)), p), pt));
        made = ox_sub(made, ox_matmul(ox_matmul(ptk, p), a));
    }
    return oxi_gives(b, 0, made);
}

/* g times the cofactors, by singular values, which may be 0: U (product of the others) V^T det(U) det(V). */
OXI_GRADIENT_RULE(det) {
    oxi_svd_parts p;
    if (!oxi_svd_of(b->call->in[0], &p)) return ox_error();
    int64_t k = p.s->shape[p.s->ndim - 1];
    if (k == 0) return oxi_gives(b, 0, ox_zeros_like(b->call->in[0]));
    ox_tensor *one = ox_ones_like(ox_narrow(p.s, -1, 0, 1)), *parts[2], *left, *right;
    parts[0] = one;
    parts[1] = ox_narrow(ox_cumprod(p.s, -1), -1, 0, k - 1);
    left = ox_cat(parts, 2, -1);
    parts[1] = ox_narrow(ox_cumprod(ox_flip(p.s, OX_DIMS(-1)), -1), -1, 0, k - 1);
    right = ox_flip(ox_cat(parts, 2, -1), OX_DIMS(-1));
    ox_tensor *sign = ox_det(p.v);
    if (oxi_is_complex(b->call->in[0]))
        sign = ox_mul(ox_conj(ox_det(p.u)), sign);
    else
        sign = ox_round(ox_mul(ox_det(p.u), sign));
    ox_tensor *made = ox_matmul(oxi_times_columns(p.u, ox_mul(left, right)), oxi_adjoint(p.v));
    ox_tensor *factor = ox_unsqueeze(ox_unsqueeze(ox_mul(b->g[0], sign), -1), -1);
    return oxi_gives(b, 0, ox_mul(made, factor));
}
