/* Samples. `p` are the parameters, `shape` is that of the result: the standard form is drawn, then moved and
 * scaled, which is what gradients follow. */

#define OXI_DRAW(name) \
    static ox_tensor *oxi_draw_##name(const ox_distribution *d, ox_tensor *const *p, ox_shape shape)

enum { OXI_DRAW_ROUNDS = 64 }; /* one in twenty is left of each: none of 10^80 after so many */

static ox_tensor *oxi_blank(ox_tensor *const *p, ox_shape shape) {
    ox_tensor *beside = p[0] ? p[0] : p[1];
    ox_dtype dtype = beside->dtype == OX_F64 ? OX_F64 : OX_F32;
    return oxi_full("sample", shape, 0, dtype, oxi_working_device(ox_device_of(beside)));
}
static ox_tensor *oxi_normals(ox_tensor *const *p, ox_shape shape) {
    return ox_normal_(oxi_blank(p, shape), 0, 1);
}
static ox_tensor *oxi_uniforms(ox_tensor *const *p, ox_shape shape) {
    return ox_uniform_(oxi_blank(p, shape), 0, 1);
}
static ox_tensor *oxi_exponentials(ox_tensor *const *p, ox_shape shape) {
    return ox_exponential_(oxi_blank(p, shape), 1);
}
static ox_tensor *oxi_located(ox_tensor *const *p, ox_tensor *standard) {
    return ox_add(p[0], ox_mul(p[1], standard));
}

OXI_DRAW(normal) {
    (void)d;
    return oxi_located(p, oxi_normals(p, shape));
}
OXI_DRAW(log_normal) {
    return ox_exp(oxi_draw_normal(d, p, shape));
}
OXI_DRAW(uniform) {
    (void)d;
    return ox_add(p[0], ox_mul(ox_sub(p[1], p[0]), oxi_uniforms(p, shape)));
}
OXI_DRAW(exponential) {
    (void)d;
    return ox_div(oxi_exponentials(p, shape), p[0]);
}
OXI_DRAW(laplace) {
    (void)d;
    ox_tensor *side = ox_sub_number(ox_mul_number(oxi_uniforms(p, shape), 2), 1);
    return oxi_located(p, ox_mul(ox_sign(side), oxi_exponentials(p, shape)));
}
OXI_DRAW(cauchy) {
    (void)d;
    return oxi_located(p, ox_cauchy_(oxi_blank(p, shape), 0, 1));
}
OXI_DRAW(gumbel) {
    (void)d;
    return oxi_located(p, ox_neg(ox_log(oxi_exponentials(p, shape))));
}
OXI_DRAW(multivariate_normal) {
    (void)d;
    ox_tensor *standard = ox_unsqueeze(oxi_normals(p, shape), -1);
    return ox_add(p[0], ox_squeeze(ox_matmul(p[1], standard), -1));
}

/* ---- whole numbers ------------------------------------------------------------------------------------- */

OXI_DRAW(bernoulli) {
    (void)d;
    ox_tensor *probs = oxi_binary_probs(p);
    return probs ? ox_bernoulli(ox_expand(probs, shape)) : NULL;
}
OXI_DRAW(geometric) {
    (void)d;
    ox_tensor *rate = ox_neg(ox_log1p(ox_neg(oxi_binary_probs(p))));
    return ox_floor(ox_div(oxi_exponentials(p, shape), rate));
}
OXI_DRAW(binomial) {
    ox_tensor *sum = oxi_blank(p, shape), *probs = ox_expand(oxi_binary_probs(p), shape);
    for (int64_t i = 0; i < d->count && sum; i++) sum = ox_add_(sum, ox_bernoulli(probs));
    return sum;
}

/* `count` classes of each of the parameters' rows, i64 [count, batch..]. */
static ox_tensor *oxi_draw_classes(ox_tensor *const *p, int64_t count) {
    ox_tensor *probs = oxi_class_probs(p);
    if (!probs) return NULL;
    ox_shape batch = ox_shape_of(probs);
    int64_t classes = batch.dim[--batch.ndim];
    ox_tensor *rows = ox_multinomial(ox_reshape(probs, OX_SHAPE(-1, classes)), count, true);
    for (int i = batch.ndim; i > 0; i--) batch.dim[i] = batch.dim[i - 1];
    batch.dim[0] = count;
    batch.ndim++;
    return ox_reshape(ox_t(rows), batch);
}
OXI_DRAW(categorical) {
    int64_t count = 1, batch = 1;
    const ox_tensor *given = p[0] ? p[0] : p[1];
    (void)d;
    for (int i = 0; i < given->ndim - 1; i++) batch *= given->shape[i];
    for (int i = 0; i < shape.ndim - given->ndim + 1; i++) count *= shape.dim[i]; /* a shape's sizes fit */
    if (count == 0 || batch == 0) return oxi_full("sample", shape, 0, OX_I64, ox_device_of(given));
    return ox_reshape(oxi_draw_classes(p, count), shape);
}
OXI_DRAW(multinomial) {
    ox_shape trials = shape;
    ox_tensor *sum = NULL;
    trials.ndim--;
    for (int64_t i = 0; i < d->count; i++) {
        ox_tensor *one = ox_one_hot(oxi_draw_categorical(d, p, trials), shape.dim[shape.ndim - 1]);
        sum = sum ? ox_add(sum, one) : one;
    }
    ox_tensor *blank = oxi_blank(p, shape);
    return sum ? ox_cast(sum, blank ? blank->dtype : OX_F32) : blank;
}

/* ---- in rounds ----------------------------------------------------------------------------------------- */

/* Puts what a round made where it counts and nothing was before: false where all have something, or
 * on error. */
static bool oxi_round(ox_tensor **made, ox_tensor **missing, ox_tensor *candidate, ox_tensor *taken) {
    ox_tensor *now = ox_logical_and(*missing, taken);
    *made = ox_where(now, candidate, *made);
    *missing = ox_logical_and(*missing, ox_logical_not(taken));
    return *made && *missing && ox_item_int(ox_any(*missing, OX_ALL_DIMS, false)) != 0;
}

/* Gamma of rate 1 (Marsaglia & Tsang 2000): d v of v = (1 + c x)^3; below 1 by that of a + 1. */
static ox_tensor *oxi_gammas(ox_tensor *a, ox_shape shape) {
    ox_tensor *p[2] = {a, NULL}, *made = oxi_blank(p, shape), *missing = made ? ox_eq_number(made, 0) : NULL;
    ox_tensor *small = ox_lt_number(a, 1), *raised = ox_where(small, ox_add_number(a, 1), a);
    ox_tensor *scale = ox_sub_number(raised, 1.0 / 3), *c = ox_rsqrt(ox_mul_number(scale, 9));
    for (int round = 0; round < OXI_DRAW_ROUNDS && missing; round++) {
        ox_tensor *x = oxi_normals(p, shape), *v = ox_add_number(ox_mul(c, x), 1);
        v = ox_mul(v, ox_square(v));
        ox_tensor *above = ox_gt_number(v, 0), *log = ox_log(ox_where(above, v, ox_number(1)));
        ox_tensor *bound =
            ox_add(ox_mul_number(ox_square(x), 0.5), ox_mul(scale, ox_rsub_number(ox_sub(v, log), 1)));
        ox_tensor *taken = ox_logical_and(above, ox_gt(bound, ox_neg(oxi_exponentials(p, shape))));
        if (!oxi_round(&made, &missing, ox_mul(scale, v), taken)) break;
    }
    ox_tensor *less = ox_exp(ox_neg(ox_div(oxi_exponentials(p, shape), a)));
    return ox_where(small, ox_mul(made, less), made);
}
OXI_DRAW(gamma) {
    (void)d;
    return ox_div(oxi_gammas(p[0], shape), p[1]);
}
OXI_DRAW(beta) {
    (void)d;
    ox_tensor *one = oxi_gammas(p[0], shape), *other = oxi_gammas(p[1], shape);
    return ox_div(one, ox_add(one, other));
}
OXI_DRAW(dirichlet) {
    (void)d;
    ox_tensor *parts = oxi_gammas(p[0], shape);
    return ox_div(parts, ox_sum(parts, OX_DIMS(-1), true));
}
OXI_DRAW(student_t) {
    (void)d;
    ox_tensor *mean_square = ox_div(oxi_gammas(ox_mul_number(p[0], 0.5), shape), ox_mul_number(p[0], 0.5));
    return oxi_located(p + 1, ox_mul(oxi_normals(p, shape), ox_rsqrt(mean_square)));
}

/* How many waits of the exponential distribution fit into the rate: for rates up to 10. */
static ox_tensor *oxi_poisson_small(ox_tensor *rate, ox_shape shape) {
    ox_tensor *p[2] = {rate, NULL}, *time = oxi_exponentials(p, shape), *made = oxi_blank(p, shape);
    for (int round = 0; round < 4 * OXI_DRAW_ROUNDS && made && time; round++) {
        ox_tensor *inside = ox_lt(time, rate);
        if (ox_item_int(ox_any(inside, OX_ALL_DIMS, false)) == 0) break;
        made = ox_add(made, ox_cast(inside, made->dtype));
        time = ox_add(time, oxi_exponentials(p, shape));
    }
    return made;
}

/* Transformed rejection, PTRS of Hoermann 1993: for rates from 10. */
static ox_tensor *oxi_poisson_large(ox_tensor *rate, ox_shape shape) {
    ox_tensor *p[2] = {rate, NULL}, *made = oxi_blank(p, shape),
              *missing = made ? ox_eq_number(made, 0) : NULL;
    ox_tensor *b = ox_add_number(ox_mul_number(ox_sqrt(rate), 2.53), 0.931);
    ox_tensor *a = ox_sub_number(ox_mul_number(b, 0.02483), 0.059), *log_rate = ox_log(rate);
    ox_tensor *inverse = ox_add_number(ox_rdiv_number(ox_sub_number(b, 3.4), 1.1328), 1.1239);
    ox_tensor *quick = ox_rsub_number(ox_rdiv_number(ox_sub_number(b, 2), 3.6224), 0.9277);
    for (int round = 0; round < OXI_DRAW_ROUNDS && missing; round++) {
        ox_tensor *u = ox_sub_number(oxi_uniforms(p, shape), 0.5),
                  *v = ox_rsub_number(oxi_uniforms(p, shape), 1);
        ox_tensor *us = ox_rsub_number(ox_abs(u), 0.5);
        ox_tensor *wide = ox_add(ox_div(ox_mul_number(a, 2), us), b);
        ox_tensor *k = ox_floor(ox_add_number(ox_add(ox_mul(wide, u), rate), 0.43));
        ox_tensor *at_once = ox_logical_and(ox_ge_number(us, 0.07), ox_le(v, quick));
        ox_tensor *never =
            ox_logical_or(ox_lt_number(k, 0), ox_logical_and(ox_lt_number(us, 0.013), ox_gt(v, us)));
        ox_tensor *left = ox_log(ox_div(ox_mul(v, inverse), ox_add(ox_div(a, ox_square(us)), b)));
        ox_tensor *kept = ox_where(never, ox_number(0), k);
        ox_tensor *right = ox_sub(ox_sub(ox_mul(kept, log_rate), rate), ox_lgamma(ox_add_number(kept, 1)));
        ox_tensor *taken = ox_logical_and(ox_logical_not(never), ox_le(left, right));
        if (!oxi_round(&made, &missing, k, ox_logical_or(at_once, taken))) break;
    }
    return made;
}
OXI_DRAW(poisson) {
    (void)d;
    ox_tensor *large = ox_ge_number(p[0], 10);
    ox_tensor *few = oxi_poisson_small(ox_clamp(p[0], -INFINITY, 10), shape);
    return ox_where(large, oxi_poisson_large(ox_clamp(p[0], 10, INFINITY), shape), few);
}
