/* test_algebra.c - polar decompositions, roots of symmetric matrices, singular values of low rank: what they
 * are made to fulfill, in every layout; gradients; refusals. */
#include "oxtorch_nn.h"

#include "operands.h"

static bool same(ox_tensor *a, ox_tensor *b, double bound) {
    return a && b && ox_allclose(a, b, bound, bound, false);
}
static ox_tensor *turned(ox_tensor *x) {
    return ox_transpose(x, -1, -2);
}

static void test_polar(void) {
    static const int64_t shape[3] = {2, 5, 3};
    for (int l = 0; l < LAYOUT_EXPANDED_FIRST; l++)
        OX_SCOPE {
            ox_tensor *x = random_layout((layout)l, DOMAIN_UNIT, 3, shape, OX_F64);
            ox_tuple made = ox_linalg_polar(x);
            CHECK_MSG(made.t[0] != NULL, "%s: %s", layout_name((layout)l), ox_error_text());
            CHECK(same(ox_matmul(made.t[0], made.t[1]), x, 1e-12));
            CHECK(same(ox_matmul(turned(made.t[0]), made.t[0]), ox_eye(3, 3, OX_F64), 1e-12));
            CHECK(same(made.t[1], turned(made.t[1]), 1e-12));
            CHECK(ox_item(ox_amin(ox_eigvalsh(made.t[1], false), OX_ALL_DIMS, false)) > -1e-12);
            ox_tensor *square = ox_matmul(turned(x), x), *root = ox_matrix_sqrth(square);
            CHECK(same(ox_matmul(root, root), square, 1e-12) && same(root, made.t[1], 1e-7));
            ox_error_clear();
        }
    OX_SCOPE {
        ox_tensor *wide = ox_ones(OX_SHAPE(2, 3), OX_F64);
        CHECK(!ox_linalg_polar(wide).t[0] && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_matrix_sqrth(wide) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_matrix_sqrth(NULL) && ox_error() != OX_OK);
        ox_error_clear();
        CHECK(ox_numel(ox_matrix_sqrth(ox_zeros(OX_SHAPE(0, 0), OX_F32))) == 0);
    }
}

static ox_tensor *product(ox_tuple parts) {
    return parts.t[0] ? ox_matmul(ox_mul(parts.t[0], ox_unsqueeze(parts.t[1], -2)), turned(parts.t[2]))
                      : NULL;
}

static void test_lowrank(void) {
    OX_SCOPE {
        ox_manual_seed(3);
        ox_tensor *x = ox_matmul(ox_randn(OX_SHAPE(2, 9, 3), OX_F64), ox_randn(OX_SHAPE(2, 3, 7), OX_F64));
        ox_tensor *shift = ox_randn(OX_SHAPE(1, 7), OX_F64), *full = ox_svdvals(x);
        CHECK(same(product(ox_svd_lowrank(x, 3, 2, NULL)), x, 1e-10));
        CHECK(same(product(ox_svd_lowrank(turned(x), 4, 0, NULL)), turned(x), 1e-10));
        CHECK(same(ox_svd_lowrank(x, 2, 60, NULL).t[1], ox_narrow(full, -1, 0, 2), 1e-10));
        CHECK(same(product(ox_svd_lowrank(ox_add(x, shift), 3, 2, shift)), x, 1e-10));
        ox_tuple centered = ox_pca_lowrank(x, 0, true, 2);
        CHECK(centered.t[1] && centered.t[1]->shape[1] == 6 &&
              same(product(centered), ox_sub(x, ox_mean(x, OX_DIMS(-2), true)), 1e-10));
        CHECK(same(product(ox_pca_lowrank(x, 3, false, 2)), x, 1e-10));
        CHECK(!ox_svd_lowrank(x, 8, 2, NULL).t[0] && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_svd_lowrank(ox_select(ox_select(x, 0, 0), 0, 0), 1, 2, NULL).t[0] &&
              ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_pca_lowrank(x, -1, true, 2).t[0] && ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
}

static ox_tensor *checked(ox_tensor *const *in, void *user) {
    int which = *(int *)user;
    ox_manual_seed(4);
    if (which == 0) return ox_linalg_polar(in[0]).t[0];
    if (which == 1) return ox_linalg_polar(in[0]).t[1];
    if (which == 2) return ox_matrix_sqrth(ox_matmul(turned(in[0]), in[0]));
    return product(ox_svd_lowrank(in[0], 3, 2, NULL));
}

static void test_gradients(void) {
    for (int i = 0; i < 4; i++)
        OX_SCOPE {
            static const int64_t shape[2] = {5, 3};
            ox_tensor *x =
                ox_requires_grad_(random_layout(LAYOUT_PLAIN, DOMAIN_UNIT, 2, shape, OX_F64), true);
            CHECK_MSG(ox_gradcheck(checked, &i, &x, 1, NULL) == OX_OK, "%d: %s", i, ox_error_text());
            ox_error_clear();
        }
}

int main(void) {
    test_polar();
    test_lowrank();
    test_gradients();
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("algebra");
}
