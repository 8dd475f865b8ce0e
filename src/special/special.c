/* The public special functions, and what runs them on the CPU. */

typedef enum oxi_special_function {
#define OXI_SPECIAL(name, operands, f64) OXI_SPECIAL_##name,
#include "special/special.def"
    OXI_SPECIAL_COUNT
} oxi_special_function;

#define OXI_X(name)                                                     \
    OX_API ox_tensor *ox_##name(ox_tensor *x) {                         \
        ox_tensor *in[2] = {x, NULL};                                   \
        oxi_attrs attr = oxi_attrs_special();                           \
        attr.special.function = OXI_SPECIAL_##name;                     \
        if (oxi_any_null(#name, in, 1)) return NULL;                    \
        return oxi_apply_as(#name, OXI_OP_special, &attr, in, 2, NULL); \
    }
OX_SPECIAL_1(OXI_X)
#undef OXI_X
#define OXI_X(name)                                                     \
    OX_API ox_tensor *ox_##name(ox_tensor *a, ox_tensor *b) {           \
        ox_tensor *in[2] = {a, b};                                      \
        oxi_attrs attr = oxi_attrs_special();                           \
        attr.special.function = OXI_SPECIAL_##name;                     \
        if (oxi_any_null(#name, in, 2)) return NULL;                    \
        return oxi_apply_as(#name, OXI_OP_special, &attr, in, 2, NULL); \
    }
OX_SPECIAL_2(OXI_X)
#undef OXI_X

OX_API ox_tensor *ox_polygamma(int64_t n, ox_tensor *x) {
    oxi_attrs attr = oxi_attrs_special();
    if (oxi_any_null("polygamma", &x, 1)) return NULL;
    if (n < 0 || n > 1000) return OXI_FAIL_NULL(OX_ERR_ARG, "polygamma: derivative %lld", (long long)n);
    attr.special.function = OXI_SPECIAL_polygamma;
    oxi_work work = oxi_work_begin("polygamma");
    ox_tensor *in[2];
    in[0] = ox_number((double)n);
    in[1] = x;
    return oxi_work_end(&work, in[0] ? oxi_apply_as("polygamma", OXI_OP_special, &attr, in, 2, NULL) : NULL);
}

OX_API ox_tensor *ox_mvlgamma(ox_tensor *x, int64_t p) {
    if (oxi_any_null("mvlgamma", &x, 1)) return NULL;
    if (p < 1 || p > 1000) return OXI_FAIL_NULL(OX_ERR_ARG, "mvlgamma: p %lld", (long long)p);
    oxi_work work = oxi_work_begin("mvlgamma");
    ox_tensor *ramp = ox_mul_number(oxi_ramp_beside(x, p, x->dtype == OX_F64 ? OX_F64 : OX_F32), -0.5);
    ox_tensor *each = ox_lgamma(ox_add(ox_unsqueeze(oxi_as_float(x), -1), ramp));
    double more = (double)p * (double)(p - 1) / 4 * log(OXI_PI_F64);
    ox_tensor *sum = ox_add_number(ox_sum(each, OX_DIMS(-1), false), more);
    return oxi_work_end(&work, sum && oxi_is_float(x->dtype) ? ox_cast(sum, x->dtype) : sum);
}

OXI_MADE_1(ndtr, ox_mul_number(ox_erfc(ox_mul_number(x, -0.70710678118654752440)), 0.5))

static ox_tensor *oxi_entropy(ox_tensor *x) {
    x = oxi_as_float(x);
    ox_tensor *above = ox_gt_number(x, 0), *zero = ox_eq_number(x, 0);
    ox_tensor *safe = ox_where(zero, ox_number(1), x);
    ox_tensor *root = ox_sqrt(ox_where(zero, ox_add_number(x, 0), ox_number(1))); /* 0 (+0), and as steep */
    ox_tensor *edge = ox_where(ox_lt_number(x, 0), ox_number(-INFINITY), ox_where(zero, root, x));
    return ox_where(above, ox_neg(ox_mul(safe, ox_log(safe))), edge);
}
OXI_MADE_1(entr, oxi_entropy(x))

/* ---- on the CPU ---------------------------------------------------------------------------------------- */

#ifdef OX_NO_SPECIAL
static ox_status oxi_cpu_special(const oxi_call *call) {
    return oxi_fail(OX_ERR_UNSUPPORTED, "%s: left out by OX_NO_SPECIAL", call->name);
}
#else
typedef struct oxi_special_job {
    double (*one)(double);
    double (*two)(double, double);
    const double *a, *b;
    double *out;
    int64_t count;
} oxi_special_job;

enum { OXI_SPECIAL_GRAIN = 1024 };

static void oxi_special_task(void *arg, int64_t index, int lane) {
    const oxi_special_job *job = (const oxi_special_job *)arg;
    int64_t first = index * OXI_SPECIAL_GRAIN, end = oxi_min_i64(first + OXI_SPECIAL_GRAIN, job->count);
    (void)lane;
    for (int64_t i = first; i < end; i++)
        job->out[i] = job->one ? job->one(job->a[i]) : job->two(job->a[i], job->b[i]);
}

static bool oxi_special_of(int64_t function, oxi_special_job *job) {
    static const struct {
        double (*one)(double);
        double (*two)(double, double);
    } table[] = {
#define OXI_SPECIAL_FUNCTION_1(f64) {oxi_special_##f64, NULL},
#define OXI_SPECIAL_FUNCTION_2(f64) {NULL, oxi_special_##f64},
#define OXI_SPECIAL(name, operands, f64) OXI_SPECIAL_FUNCTION_##operands(f64)
#include "special/special.def"
    };
    if (function < 0 || function >= OXI_SPECIAL_COUNT) return false;
    job->one = table[function].one;
    job->two = table[function].two;
    return true;
}

/* An operand as doubles in the shape of the result. */
static ox_tensor *oxi_special_operand(ox_tensor *t, const ox_tensor *out) {
    ox_tensor *wide = ox_cast(t, OX_F64);
    return ox_contiguous(ox_expand(wide, ox_shape_of(out)));
}

static ox_status oxi_cpu_special(const oxi_call *call) {
    oxi_special_job job;
    ox_tensor *out = call->out[0], *in[2] = {NULL, NULL};
    memset(&job, 0, sizeof job);
    if (!oxi_special_of(call->attr.special.function, &job) || (job.two && !call->in[1]))
        return oxi_fail(OX_ERR_ARG, "special: no function %lld", (long long)call->attr.special.function);
    job.count = ox_numel(out);
    if (job.count == 0) return OX_OK;
    ox_scope scope = ox_scope_begin();
    bool made = true;
    for (int i = 0; i < (job.two ? 2 : 1); i++) {
        in[i] = oxi_special_operand(call->in[i], out);
        made = made && in[i];
    }
    bool direct = out->dtype == OX_F64 && ox_is_contiguous(out);
    ox_tensor *result = direct ? out : made ? oxi_tensor_new(ox_cpu(), OX_F64, out->ndim, out->shape) : NULL;
    ox_status status = made && result ? OX_OK : OX_ERR_NOMEM;
    if (status == OX_OK) {
        job.a = (const double *)(const void *)oxi_ptr(in[0]);
        job.b = in[1] ? (const double *)(const void *)oxi_ptr(in[1]) : NULL;
        job.out = (double *)(void *)oxi_ptr(result);
        oxi_parallel_for((job.count - 1) / OXI_SPECIAL_GRAIN + 1, oxi_special_task, &job);
        if (!direct) status = oxi_copy_quiet(out, result);
    }
    if (!direct && result) ox_release(result);
    ox_scope_end(&scope);
    return status;
}
#endif
