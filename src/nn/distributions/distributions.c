/* Distributions: the table, what is checked of one, and the public functions. */

typedef struct oxi_distribution_row {
    const char *name;
    int parameters, least, event;
    bool by_sample;
    ox_tensor *(*draw)(const ox_distribution *d, ox_tensor *const *p, ox_shape shape);
    ox_tensor *(*density)(const ox_distribution *d, ox_tensor *const *p, ox_tensor *x);
    ox_tensor *(*entropy)(const ox_distribution *d, ox_tensor *const *p);
    ox_tensor *(*mean)(const ox_distribution *d, ox_tensor *const *p);
    ox_tensor *(*variance)(const ox_distribution *d, ox_tensor *const *p);
    ox_tensor *(*divergence)(const ox_distribution *d, ox_tensor *const *p, ox_tensor *const *q);
} oxi_distribution_row;

static const oxi_distribution_row oxi_distribution_rows[] = {
    {NULL, 0, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL},
#define OXI_DISTRIBUTION(KIND, name, parameters, least, event, by_sample) \
    {#name,                                                               \
     parameters,                                                          \
     least,                                                               \
     event,                                                               \
     by_sample,                                                           \
     oxi_draw_##name,                                                     \
     oxi_density_##name,                                                  \
     oxi_entropy_##name,                                                  \
     oxi_mean_##name,                                                     \
     oxi_variance_##name,                                                 \
     oxi_divergence_##name},
#include "nn/distributions/distributions.def"
};

/* The row of a distribution whose parameters go together; NULL and an error. */
static const oxi_distribution_row *oxi_distribution_of(const char *what, const ox_distribution *d) {
    if (!d || (int)d->kind < 1 || d->kind >= OX_DISTRIBUTION_KINDS) {
        (void)oxi_fail(OX_ERR_ARG, "%s: no such distribution", what);
        return NULL;
    }
    const oxi_distribution_row *row = &oxi_distribution_rows[d->kind];
    int given = 0;
    for (int i = 0; i < 3; i++) {
        const ox_tensor *t = d->parameter[i];
        given += t != NULL;
        bool fits = t ? i < row->parameters && oxi_is_float(t->dtype) : i >= row->least;
        if (fits) continue;
        (void)oxi_fail(OX_ERR_ARG, "%s: %s: parameter %d is %s", what, row->name, i, oxi_tensor_text(t));
        return NULL;
    }
    bool classes = d->kind == OX_DISTRIBUTION_CATEGORICAL,
         matrix = d->kind == OX_DISTRIBUTION_MULTIVARIATE_NORMAL;
    bool fits = row->least > 0 || given == 1;
    for (int i = 0; i < row->parameters; i++)
        if (d->parameter[i])
            fits = fits && d->parameter[i]->ndim >= row->event + (classes || (matrix && i == 1));
    if (fits && d->count >= 0) return row;
    (void)oxi_fail(OX_ERR_ARG, "%s: %s: parameters %s, %s, count %lld", what, row->name,
                   oxi_tensor_text(d->parameter[0]), oxi_tensor_text(d->parameter[1]), (long long)d->count);
    return NULL;
}

/* The shape of one outcome of each parameter, behind the sizes of `shape`; false and an error. */
static bool oxi_outcome_shape(const ox_distribution *d, ox_shape *shape) {
    ox_tensor *list[3];
    int count = 0;
    ox_shape each;
    for (int i = 0; i < 3; i++) {
        ox_tensor *t = d->parameter[i];
        if (!t) continue;
        bool inner = d->kind == OX_DISTRIBUTION_CATEGORICAL ||
                     (d->kind == OX_DISTRIBUTION_MULTIVARIATE_NORMAL && i == 1);
        list[count] = inner ? ox_squeeze(ox_narrow(t, -1, 0, 1), -1) : t;
        if (!list[count++]) return false;
    }
    if (!oxi_common_shape("sample", list, count, &each)) return false;
    if (shape->ndim + each.ndim > OX_MAX_DIMS) {
        (void)oxi_fail(OX_ERR_SHAPE, "sample: %d dims more than %d", shape->ndim, each.ndim);
        return false;
    }
    for (int i = 0; i < each.ndim; i++) shape->dim[shape->ndim++] = each.dim[i];
    return true;
}

static ox_tensor *oxi_distribution_draw(const char *name, const ox_distribution *d, ox_shape shape,
                                        bool follows) {
    const oxi_distribution_row *row = oxi_distribution_of(name, d);
    ox_tensor *p[3];
    if (!row) return NULL;
    if (follows && !row->by_sample)
        return OXI_FAIL_NULL(OX_ERR_UNSUPPORTED, "%s: a sample of %s has no gradient", name, row->name);
    oxi_work work = oxi_work_begin(name);
    for (int i = 0; i < 3; i++) {
        p[i] = d->parameter[i] && !follows ? ox_detach(d->parameter[i]) : d->parameter[i];
        if (d->parameter[i] && !p[i]) return oxi_work_end(&work, NULL);
    }
    if (!oxi_outcome_shape(d, &shape)) return oxi_work_end(&work, NULL);
    ox_tensor *made = row->draw(d, p, shape);
    ox_dtype dtype = d->kind == OX_DISTRIBUTION_CATEGORICAL ? OX_I64 : (p[0] ? p[0] : p[1])->dtype;
    return oxi_work_end(&work, made ? ox_cast(made, dtype) : NULL);
}
OX_API ox_tensor *ox_distribution_sample(const ox_distribution *d, ox_shape shape) {
    return oxi_distribution_draw("sample", d, shape, false);
}
OX_API ox_tensor *ox_distribution_rsample(const ox_distribution *d, ox_shape shape) {
    return oxi_distribution_draw("rsample", d, shape, true);
}

OX_API ox_tensor *ox_distribution_log_prob(const ox_distribution *d, ox_tensor *value) {
    if (oxi_any_null("log_prob", &value, 1)) return NULL;
    const oxi_distribution_row *row = oxi_distribution_of("log_prob", d);
    if (!row) return NULL;
    oxi_work work = oxi_work_begin("log_prob");
    return oxi_work_end(&work, row->density(d, d->parameter, value));
}

#define OXI_X(name)                                                      \
    OX_API ox_tensor *ox_distribution_##name(const ox_distribution *d) { \
        const oxi_distribution_row *row = oxi_distribution_of(#name, d); \
        if (!row) return NULL;                                           \
        oxi_work work = oxi_work_begin(#name);                           \
        return oxi_work_end(&work, row->name(d, d->parameter));          \
    }
OXI_X(entropy)
OXI_X(mean) OXI_X(variance)
#undef OXI_X

    OX_API ox_tensor *ox_distribution_kl(const ox_distribution *p, const ox_distribution *q) {
    const oxi_distribution_row *row = oxi_distribution_of("kl", p);
    if (!row || !oxi_distribution_of("kl", q)) return NULL;
    if (p->kind != q->kind || !row->divergence || p->count != q->count)
        return OXI_FAIL_NULL(OX_ERR_UNSUPPORTED, "kl: of %s from %s", row->name,
                             oxi_distribution_rows[q->kind].name);
    oxi_work work = oxi_work_begin("kl");
    return oxi_work_end(&work, row->divergence(p, p->parameter, q->parameter));
}
