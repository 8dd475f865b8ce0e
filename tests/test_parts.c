/* test_parts.c - ops that are made of others, against plain loops in double: dtypes, layouts, shapes, errors.
 * OX_TIERS OX_VULKAN */
#include "operands.h"

static const ox_dtype float_dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16};

static double real_at(const ox_tensor *t, int64_t i) { return load_real(t->dtype, element(t, i)); }

/* What the largest number of a result may be off by: some steps of its dtype, and of the sums in between. */
static double allowed(ox_dtype dtype, double around) {
    double step = dtype == OX_F64 ? 1e-13 : dtype == OX_F32 ? 2e-6 : dtype == OX_F16 ? 2e-3 : 1.6e-2;
    return step * around;
}

/* ---- instance_norm ------------------------------------------------------------------------------------- */

static void check_instance_norm(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, const char *how) {
    ox_tensor *y = ox_instance_norm(x, weight, bias, 1e-3);
    CHECK_MSG(y && y->dtype == x->dtype && y->ndim == x->ndim, "%s: %s", how, ox_error_text());
    if (!y) return;
    int64_t rows = x->shape[0] * x->shape[1], n = rows ? ox_numel(x) / rows : 0;
    double worst = 0;
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < n; i++) mean += real_at(x, r * n + i) / (double)n;
        for (int64_t i = 0; i < n; i++) squares += pow(real_at(x, r * n + i) - mean, 2) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            double want = (real_at(x, r * n + i) - mean) / sqrt(squares + 1e-3);
            if (weight) want *= real_at(weight, r % x->shape[1]);
            if (bias) want += real_at(bias, r % x->shape[1]);
            double off = fabs(real_at(y, r * n + i) - want) / allowed(y->dtype, 4 + fabs(want) + fabs(mean));
            if (!(off <= worst)) worst = off;
        }
    }
    CHECK_MSG(worst <= 1, "instance_norm of %s, %s: off by %g times what is allowed", ox_dtype_name(x->dtype),
              how, worst);
}

static void test_instance_norm(void) {
    static const int64_t shapes[][4] = {{2, 3, 7, 5}, {1, 4, 1, 9}, {3, 1, 2, 2}, {2, 3, 0, 4}, {2, 0, 3, 4}};
    for (int d = 0; d < 4; d++)
        for (int s = 0; s < 5; s++)
            for (int l = 0; l < LAYOUT_COUNT; l++)
                OX_SCOPE {
                    ox_tensor *x = random_layout((layout)l, DOMAIN_MODEST, 4, shapes[s], float_dtypes[d]);
                    ox_tensor *w = random_layout((layout)l, DOMAIN_UNIT, 1, &shapes[s][1], float_dtypes[d]);
                    check_instance_norm(x, l & 1 ? w : NULL, l & 2 ? w : NULL, layout_name((layout)l));
                }
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(2, 3, 11), OX_F32), *flat = ox_randn(OX_SHAPE(6), OX_F32);
        check_instance_norm(x, NULL, NULL, "a row of samples");
        CHECK(!ox_instance_norm(flat, NULL, NULL, 1e-5) && ox_error() == OX_ERR_SHAPE);
        CHECK_MSG(strstr(ox_error_text(), "instance_norm: f32[6] has no channel dim"), "%s", ox_error_text());
        ox_error_clear();
        CHECK(!ox_instance_norm(x, ox_ones(OX_SHAPE(2), OX_F32), NULL, 1e-5) && ox_error() == OX_ERR_SHAPE);
        CHECK_MSG(strstr(ox_error_text(), "instance_norm: f32[2] does not fit"), "%s", ox_error_text());
        ox_error_clear();
        CHECK(!ox_instance_norm(ox_ones(OX_SHAPE(1, 2, 3), OX_I64), NULL, NULL, 1e-5));
        CHECK(ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
    }
}

int main(void) {
    test_instance_norm();
    return check_done("parts");
}
