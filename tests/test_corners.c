/* test_corners.c - corners where PyTorch's rules decide; every expected number is torch 2.14's. OX_VULKAN */
#include <stdlib.h>
#include <string.h>

#include <float.h>
#include <math.h>

#include "oxtorch.h"

#include "check.h"

static ox_tensor *integers(const int64_t *values, int64_t n, ox_dtype dtype) {
    return ox_cast(ox_from_data(values, OX_SHAPE(n), OX_I64), dtype);
}

static bool holds(ox_tensor *t, const double *want, int64_t n) {
    double got[16];
    if (!t || ox_numel(t) != n || ox_to_doubles(t, got, n) != OX_OK) return false;
    for (int64_t i = 0; i < n; i++)
        if (got[i] != want[i]) return false;
    return true;
}

static void refused(ox_tensor *result, const char *words) {
    CHECK(!result);
    CHECK_MSG(strstr(ox_error_text(), words) != NULL, "\"%s\" without \"%s\"", ox_error_text(), words);
    ox_error_clear();
}

/* 2049 is no f16 and 257 no bf16: they are rounded before anything is computed. */
static void test_integers_beside_narrow_floats(void) {
    static const int64_t odd[] = {2049}, even[] = {2048}, small[] = {257};
    static const double yes[] = {1}, none[] = {0}, rounded[] = {4096}, back[] = {-1};
    OX_SCOPE {
        ox_tensor *i = integers(odd, 1, OX_I16), *f = integers(even, 1, OX_F16),
                  *wide = integers(small, 1, OX_I64);
        CHECK(holds(ox_eq(i, f), yes, 1) && holds(ox_eq(f, i), yes, 1) && holds(ox_ne(i, f), none, 1));
        CHECK(holds(ox_sub(i, f), none, 1) && holds(ox_sub(f, i), none, 1) && holds(ox_fmod(i, f), none, 1));
        CHECK(holds(ox_add(i, f), rounded, 1) && ox_add(i, f)->dtype == OX_F16);
        CHECK(holds(ox_sub_(ox_clone(f), i), none, 1));
        CHECK(holds(ox_eq(wide, ox_number(256)), none, 1));
        CHECK(holds(ox_eq(wide, ox_full(OX_SHAPE(1), 256, OX_BF16)), yes, 1));
        CHECK(holds(ox_sub(ox_full(OX_SHAPE(1), 256, OX_F32), wide), back, 1));
    }
    CHECK(ox_error() == OX_OK);
}

static void test_joins(void) {
    OX_SCOPE {
        ox_tensor *some = ox_ones(OX_SHAPE(2, 2), OX_F32), *none = ox_zeros(OX_SHAPE(0), OX_F32), *list[3];
        list[0] = none;
        list[1] = some;
        list[2] = some;
        ox_tensor *all = ox_cat(list, 3, 1);
        CHECK(all && all->ndim == 2 && all->shape[0] == 2 && all->shape[1] == 4);
        list[1] = none;
        all = ox_cat(list, 2, 0);
        CHECK(all && all->ndim == 1 && all->shape[0] == 0);
        ox_tensor *parts[4];
        CHECK(ox_chunk(ox_zeros(OX_SHAPE(3, 0), OX_F32), 3, 1, parts, 4) == 3 && parts[2]->shape[1] == 0);
        CHECK(ox_chunk(ox_zeros(OX_SHAPE(3, 5), OX_F32), 3, 1, parts, 4) == 3 && parts[2]->shape[1] == 1);
        CHECK(ox_split(ox_zeros(OX_SHAPE(0), OX_F32), 0, 0, parts, 4) == 1);
    }
    CHECK(ox_error() == OX_OK);
}

static void test_places(void) {
    static const double three[] = {3};
    OX_SCOPE {
        ox_tensor *x = ox_full(OX_NO_DIMS, 1, OX_F32), *index = ox_zeros(OX_SHAPE(1), OX_I64);
        CHECK(holds(ox_index_add(x, 0, index, ox_full(OX_NO_DIMS, 2, OX_F32), 1), three, 1));
        refused(ox_take_along_dim(ox_zeros(OX_SHAPE(5, 67), OX_F32), ox_zeros(OX_SHAPE(2, 69), OX_I64), 1),
                "take_along_dim: shapes do not broadcast");
        ox_tensor *wide = ox_expand(ox_zeros(OX_SHAPE(1, 0, 3), OX_F32), OX_SHAPE(2, 0, 3));
        CHECK(ox_add_(wide, ox_number(1)) != NULL);
        CHECK(ox_numel(ox_fmod(ox_zeros(OX_SHAPE(0), OX_I64), ox_zeros(OX_SHAPE(1), OX_I64))) == 0);
        refused(ox_fmod(ox_ones(OX_SHAPE(1), OX_I64), ox_zeros(OX_SHAPE(1), OX_I64)),
                "integer division by zero");
        refused(ox_glu(ox_ones(OX_SHAPE(4), OX_I32), 0), "glu: not defined for i32");
    }
    CHECK(ox_error() == OX_OK);
}

static void test_random(void) {
    OX_SCOPE {
        refused(ox_randint(0, 300, OX_SHAPE(2), OX_U8), "randint: 0 to 299 does not fit u8");
        refused(ox_randint(-1, 3, OX_SHAPE(2), OX_U32), "does not fit u32");
        CHECK(ox_randint(0, 256, OX_SHAPE(2), OX_U8) &&
              ox_randint(INT64_MIN, INT64_MAX, OX_SHAPE(2), OX_I64));
        ox_tensor *like = ox_zeros(OX_SHAPE(3, 4), OX_F64);
        ox_manual_seed(7);
        ox_tensor *a = ox_rand_like(like), *b = ox_randn_like(like), *c = ox_randint_like(like, 2, 5);
        ox_manual_seed(7);
        CHECK(ox_equal(a, ox_rand(OX_SHAPE(3, 4), OX_F64)) && ox_equal(b, ox_randn(OX_SHAPE(3, 4), OX_F64)));
        CHECK(ox_equal(c, ox_randint(2, 5, OX_SHAPE(3, 4), OX_F64)));
        CHECK(!ox_rand_like(NULL) && !ox_randn_like(NULL) && !ox_randint_like(NULL, 0, 1));
        ox_error_clear();
        ox_tensor *x = ox_t(ox_empty(OX_SHAPE(400, 50), OX_F32));
        CHECK(ox_bernoulli_(x, 0.25) == x);
        double mean = ox_item(ox_mean(x, OX_ALL_DIMS, false)), most = ox_item(ox_amax(x, OX_ALL_DIMS, false));
        CHECK_MSG(mean > 0.23 && mean < 0.27 && most == 1, "%g", mean);
        refused(ox_bernoulli_(x, 1.5), "bernoulli_: the probability 1.5 is not in [0, 1]");
    }
    CHECK(ox_error() == OX_OK);
}

static void test_addmm_in_place(void) {
    OX_SCOPE {
        ox_tensor *a = ox_randn(OX_SHAPE(5, 7), OX_F32), *b = ox_randn(OX_SHAPE(7, 3), OX_F32);
        ox_tensor *c = ox_t(ox_randn(OX_SHAPE(3, 5), OX_F32)), *want = ox_addmm(c, a, b, 0.5, 2);
        CHECK(ox_addmm_(c, a, b, 0.5, 2) == c && ox_allclose(c, want, 1e-6, 1e-6, false));
        refused(ox_addmm_(ox_zeros(OX_SHAPE(3), OX_F32), a, b, 1, 1), "does not fit");
        ox_tensor *square = ox_randn(OX_SHAPE(4, 4), OX_F32);
        want = ox_addmm(square, square, square, 1, 1);
        CHECK(ox_allclose(ox_addmm_(square, square, square, 1, 1), want, 1e-6, 1e-6, false));
    }
    CHECK(ox_error() == OX_OK);
}

static void test_shapes(void) {
    OX_SCOPE {
        ox_tensor *one = ox_full(OX_NO_DIMS, 3, OX_F32);
        CHECK(ox_equal(ox_roll(one, OX_SHAPE(1), OX_DIMS(0)), one));
        CHECK(ox_equal(ox_roll(one, OX_SHAPE(-5), OX_DIMS(-1)), one));
        CHECK(ox_shape_from(2, NULL).ndim == -1 && ox_shape_from(0, NULL).ndim == 0);
        refused(ox_zeros(OX_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 2), OX_F32), "more than 8 dims");
        refused(ox_zeros(OX_SHAPE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 2), OX_F32), "more than 8 dims");
        refused(ox_zeros(OX_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2), OX_F32),
                "more than 8 dims");
        refused(ox_unsqueeze(ox_zeros(OX_SHAPE(2, 3), OX_F32), 3),
                "unsqueeze: dim 3 is out of range for a new dim of f32[2,3]");
        CHECK(ox_unsqueeze(ox_zeros(OX_SHAPE(2, 3), OX_F32), -3)->shape[0] == 1);
    }
    CHECK(ox_error() == OX_OK);
}

/* What torch refuses to mix. */
static void test_dtypes(void) {
    OX_SCOPE {
        ox_tensor *f32 = ox_ones(OX_SHAPE(2, 2), OX_F32), *f64 = ox_ones(OX_SHAPE(2, 2), OX_F64);
        ox_tensor *line = ox_ones(OX_SHAPE(2), OX_F64), *f16 = ox_ones(OX_SHAPE(2, 2), OX_F16);
        const char *text = "operands of different dtypes";
        refused(ox_lerp(f32, f64, f32), text);
        refused(ox_lerp(f32, f32, f64), text);
        ox_tensor *ints = ox_ones(OX_SHAPE(2), OX_I32);
        refused(ox_lerp(ints, ints, ox_ones(OX_SHAPE(2), OX_F32)), text);
        refused(ox_layer_norm(f32, 1, line, NULL, 1e-5), text);
        refused(ox_rms_norm(f32, 1, line, 1e-5), text);
        refused(ox_group_norm(f32, 1, NULL, line, 1e-5), text);
        refused(ox_linear(f32, f64, NULL), text);
        refused(ox_linear(f32, f32, line), text);
        CHECK(ox_linear(f32, f16, NULL) && ox_linear(f16, f32, NULL)); /* as the manual says */
        double inf = INFINITY;
        ox_tensor *x = ox_full(OX_SHAPE(1), inf, OX_F32);
        CHECK(ox_item(ox_nan_to_num(x, 0, 1e300, -1e300)) == inf);
        CHECK(ox_item(ox_nan_to_num(x, 0, inf, -inf)) == (double)FLT_MAX);
        ox_tensor *many = ox_ones(OX_SHAPE(1000), OX_F32);
        CHECK(ox_dropout_(many, 0.5, true) == many && ox_item(ox_amax(many, OX_ALL_DIMS, false)) == 2 &&
              ox_item(ox_amin(many, OX_ALL_DIMS, false)) == 0);
    }
    CHECK(ox_error() == OX_OK);
}

int main(void) {
    test_shapes();
    test_dtypes();
    test_integers_beside_narrow_floats();
    test_joins();
    test_places();
    test_random();
    test_addmm_in_place();
    CHECK(ox_stats().tensors == 0);
    return check_done("corners");
}
