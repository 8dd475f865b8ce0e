/* test_numbers.c - numbers beside tensors: the forms with a number, integer powers, divisions with a rounding
 * mode, bounds that are tensors, dtypes of results; every expected number is torch 2.14's.
 * OX_TIERS OX_QEMU OX_VULKAN_LONG */
#include <string.h>
#include <math.h>
#include "oxtorch.h"

#include "check.h"

static bool holds(ox_tensor *t, ox_dtype dtype, const double *want, int64_t n) {
    double got[16];
    if (!t || t->dtype != dtype || ox_numel(t) != n || ox_to_doubles(t, got, n) != OX_OK) return false;
    for (int64_t i = 0; i < n; i++) {
        bool same = got[i] == want[i] && !signbit(got[i]) == !signbit(want[i]);
        if (!same && !(isnan(got[i]) && isnan(want[i]))) {
            printf("  element %d: %.17g, not %.17g\n", (int)i, got[i], want[i]);
            return false;
        }
    }
    return true;
}

static void refused(ox_tensor *result, ox_status status, const char *words) {
    CHECK(!result && ox_error() == status);
    CHECK_MSG(strstr(ox_error_text(), words) != NULL, "\"%s\" without \"%s\"", ox_error_text(), words);
    ox_error_clear();
}

#define COUNT(...) ((int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))
#define OF(dtype, ...) ox_from_doubles((const double[]){__VA_ARGS__}, OX_SHAPE(COUNT(__VA_ARGS__)), dtype)
/* The dtype and the numbers of a result, the sign of zeros too. */
#define HOLDS(t, dtype, ...) CHECK(holds(t, dtype, (const double[]){__VA_ARGS__}, COUNT(__VA_ARGS__)))

typedef ox_tensor *(*apply)(ox_tensor *x);

/* x as it lies, transposed, sliced, flipped, broadcast, and nothing of it gives what a copy gives. */
static void check_views(const char *name, apply run, ox_tensor *x) {
    ox_tensor *views[6];
    views[0] = x;
    views[1] = ox_t(x);
    views[2] = ox_slice(x, 1, 1, OX_END, 2);
    views[3] = ox_slice(x, 0, OX_END, OX_END, -1);
    views[4] = ox_expand(ox_narrow(x, 0, 1, 1), OX_SHAPE(3, 4));
    views[5] = ox_narrow(x, 0, 2, 0);
    for (int i = 0; i < 6; i++) {
        ox_tensor *got = run(views[i]), *want = run(ox_clone(views[i]));
        CHECK_MSG(got && want && ox_equal(got, want), "%s of view %d: %s", name, i, ox_error_text());
    }
}
#define VIEWS(run, x) check_views(#run, run, x)

/* [4,4]: -7 .. 8 */
static ox_tensor *square(ox_dtype dtype) {
    return ox_reshape(ox_arange(-7, 9, 1, dtype), OX_SHAPE(4, 4));
}

/* ---- truth of bytes ------------------------------------------------------------------------------------ */

static ox_tensor *all_rows(ox_tensor *x) { return ox_all(x, OX_DIMS(-1), false); }
static ox_tensor *any_columns(ox_tensor *x) { return ox_any(x, OX_DIMS(0), true); }

/* Of u8 they are u8, as in torch. */
static void test_bytes(void) {
    OX_SCOPE {
        ox_tensor *x = OF(OX_U8, 3, 0, 200), *none = ox_empty(OX_SHAPE(0, 2), OX_U8);
        HOLDS(ox_all(x, OX_ALL_DIMS, false), OX_U8, 0);
        HOLDS(ox_any(x, OX_ALL_DIMS, false), OX_U8, 1);
        HOLDS(ox_any(ox_unsqueeze(x, 1), OX_DIMS(1), false), OX_U8, 1, 0, 1);
        HOLDS(ox_all(ox_unsqueeze(x, 0), OX_DIMS(0), true), OX_U8, 1, 0, 1);
        HOLDS(ox_all(none, OX_DIMS(0), false), OX_U8, 1, 1);
        HOLDS(ox_any(none, OX_DIMS(0), false), OX_U8, 0, 0);
        HOLDS(ox_all(ox_full(OX_SHAPE(70000), 200, OX_U8), OX_ALL_DIMS, false), OX_U8, 1);
        HOLDS(ox_any(OF(OX_I8, 1, 2), OX_ALL_DIMS, false), OX_BOOL, 1);
        HOLDS(ox_all(OF(OX_U16, 1, 2), OX_ALL_DIMS, false), OX_BOOL, 1);
        HOLDS(ox_all(OF(OX_BOOL, 1, 0), OX_ALL_DIMS, false), OX_BOOL, 0);
        VIEWS(all_rows, ox_cast(square(OX_I32), OX_U8));
        VIEWS(any_columns, ox_cast(square(OX_I32), OX_U8));
    }
    CHECK(ox_error() == OX_OK);
}

/* ---- integer powers ------------------------------------------------------------------------------------ */

static ox_tensor *own_power(ox_tensor *x) { return ox_pow(x, x); }
static ox_tensor *cubed(ox_tensor *x) { return ox_pow(x, ox_integer(3)); }

static void test_powers(void) {
    static const ox_dtype dtypes[] = {OX_I8, OX_I16, OX_I32, OX_I64};
    const char *words = "integers to a negative power, -1";
    OX_SCOPE {
        for (int i = 0; i < 4; i++) {
            ox_tensor *base = OF(dtypes[i], 2, -1, 1, 0, 3, -1, -2), *x;
            ox_tensor *power = OF(dtypes[i], -1, -3, -2, -1, 2, -2, 3);
            HOLDS(ox_pow(base, power), dtypes[i], 0, -1, 1, 0, 9, 1, -8);
            HOLDS(ox_pow_(ox_clone(base), power), dtypes[i], 0, -1, 1, 0, 9, 1, -8);
            HOLDS(ox_pow(base, ox_full(OX_SCALAR_SHAPE, -1, OX_I64)), dtypes[i], 0, -1, 1, 0, 0, -1, 0);
            HOLDS(ox_pow(ox_integer(-1), power), dtypes[i], -1, -1, 1, -1, 1, 1, -1);
            HOLDS(ox_pow(base, ox_integer(0)), dtypes[i], 1, 1, 1, 1, 1, 1, 1);
            refused(ox_pow(base, ox_integer(-1)), OX_ERR_ARG, words);
            refused(ox_pow(ox_narrow(base, 0, 0, 0), ox_integer(-1)), OX_ERR_ARG, words);
            refused(ox_pow_(x = ox_clone(base), ox_integer(INT64_MIN)), OX_ERR_ARG, "pow_: integers to a");
            CHECK(ox_equal(x, base));
            VIEWS(own_power, square(dtypes[i]));
            VIEWS(cubed, square(dtypes[i]));
        }
        HOLDS(ox_pow(OF(OX_U8, 2, 0, 3), OF(OX_I8, -1, -1, 2)), OX_I16, 0, 0, 9);
        HOLDS(ox_pow(OF(OX_I32, 2, 0, 1), OF(OX_U8, 255, 255, 255)), OX_I32, 0, 0, 1);
        HOLDS(ox_pow(OF(OX_U8, 3), OF(OX_U8, 9)), OX_U8, 227);
        HOLDS(ox_pow(OF(OX_I32, 2, 1), ox_full(OX_SCALAR_SHAPE, -1, OX_F32)), OX_F32, 0.5, 1);
        HOLDS(ox_pow(OF(OX_F32, 2, -4), ox_integer(-1)), OX_F32, 0.5, -0.25);
        HOLDS(ox_pow(OF(OX_BOOL, 1, 0), ox_integer(2)), OX_I64, 1, 0);
        refused(ox_pow(OF(OX_BOOL, 1), OF(OX_BOOL, 1)), OX_ERR_DTYPE, "pow: not defined for bool");
    }
    CHECK(ox_error() == OX_OK);
}

/* ---- forms with a number ------------------------------------------------------------------------------- */

static void test_numbers_behind(void) {
    const double inf = INFINITY, nan = NAN;
    OX_SCOPE {
        ox_tensor *x = OF(OX_F32, 1, -7.5, 0, inf, nan), *i = OF(OX_I32, 7, -7, 0);
        HOLDS(ox_add_number(x, 0.5), OX_F32, 1.5, -7, 0.5, inf, nan);
        HOLDS(ox_sub_number(x, 0.5), OX_F32, 0.5, -8, -0.5, inf, nan);
        HOLDS(ox_mul_number(x, -2), OX_F32, -2, 15, -0.0, -inf, nan);
        HOLDS(ox_div_number(x, 2), OX_F32, 0.5, -3.75, 0, inf, nan);
        HOLDS(ox_floor_divide_number(x, 2), OX_F32, 0, -4, 0, nan, nan);
        HOLDS(ox_trunc_divide_number(x, 2), OX_F32, 0, -3, 0, inf, nan);
        HOLDS(ox_remainder_number(x, 2), OX_F32, 1, 0.5, 0, nan, nan);
        HOLDS(ox_remainder_number(OF(OX_F32, 7, -7, 0, inf, -5), inf), OX_F32, 7, inf, 0, nan, inf);
        HOLDS(ox_fmod_number(x, 2), OX_F32, 1, -1.5, 0, nan, nan);
        HOLDS(ox_pow_number(x, 2), OX_F32, 1, 56.25, 0, inf, nan);
        HOLDS(ox_eq_number(x, 1), OX_BOOL, 1, 0, 0, 0, 0);
        HOLDS(ox_ne_number(x, 1), OX_BOOL, 0, 1, 1, 1, 1);
        HOLDS(ox_lt_number(x, 0), OX_BOOL, 0, 1, 0, 0, 0);
        HOLDS(ox_le_number(x, 0), OX_BOOL, 0, 1, 1, 0, 0);
        HOLDS(ox_gt_number(x, 0), OX_BOOL, 1, 0, 0, 1, 0);
        HOLDS(ox_ge_number(x, 0), OX_BOOL, 1, 0, 1, 1, 0);
        /* of category float, as a float is in torch */
        HOLDS(ox_add_number(i, 1), OX_F32, 8, -6, 1);
        HOLDS(ox_floor_divide_number(i, 2), OX_F32, 3, -4, 0);
        HOLDS(ox_floor_divide_number(i, 0), OX_F32, inf, -inf, nan);
        HOLDS(ox_pow_number(OF(OX_I32, 2, 1), -1), OX_F32, 0.5, 1);
        HOLDS(ox_mul_number(OF(OX_BF16, 1), 3), OX_BF16, 3);
        HOLDS(ox_mul_number(OF(OX_F64, 1), 3), OX_F64, 3);
        CHECK(ox_mul_number(OF(OX_C64, 1), 3)->dtype == OX_C64);
        HOLDS(ox_lt_number(i, 0.5), OX_BOOL, 0, 1, 1);
        refused(ox_sub_number(OF(OX_BOOL, 1), 1), OX_ERR_DTYPE, "sub_number");
        refused(ox_lt_number(OF(OX_C64, 1), 1), OX_ERR_DTYPE, "not defined for c64");
    }
    CHECK(ox_error() == OX_OK);
}

/* torch compares integers with an int as they are. */
static void test_whole_numbers(void) {
    const int64_t big = ((int64_t)1 << 53) + 1;
    OX_SCOPE {
        ox_tensor *wide = ox_from_ints(&big, OX_SHAPE(1), OX_I64), *i = OF(OX_I32, 16777217, 16777216);
        HOLDS(ox_eq_number(wide, 9007199254740992.0), OX_BOOL, 0);
        HOLDS(ox_gt_number(wide, 9007199254740992.0), OX_BOOL, 1);
        HOLDS(ox_eq_number(i, 16777216), OX_BOOL, 0, 1);
        HOLDS(ox_ne_number(i, 16777216), OX_BOOL, 1, 0);
        HOLDS(ox_eq_number(OF(OX_BOOL, 1, 0), 1), OX_BOOL, 1, 0);
        HOLDS(ox_eq_number(OF(OX_BOOL, 1, 0), 2), OX_BOOL, 0, 0);
        /* not what it would wrap to */
        HOLDS(ox_eq_number(OF(OX_I8, 44), 300), OX_BOOL, 0);
        HOLDS(ox_lt_number(OF(OX_I8, 44), 300), OX_BOOL, 1);
        HOLDS(ox_eq_number(OF(OX_U8, 255), -1), OX_BOOL, 0);
        HOLDS(ox_gt_number(OF(OX_U64, 255), -1), OX_BOOL, 1);
        HOLDS(ox_eq_number(OF(OX_I64, 5), NAN), OX_BOOL, 0);
        HOLDS(ox_lt_number(OF(OX_I64, 5), INFINITY), OX_BOOL, 1);
    }
    CHECK(ox_error() == OX_OK);
}

static void test_numbers_in_place(void) {
    OX_SCOPE {
        ox_tensor *x = OF(OX_F16, 1, 2, 3), *i = OF(OX_I32, 7, -7, 0), *b = OF(OX_BOOL, 1, 0);
        CHECK(ox_add_number_(x, 0.5) == x);
        HOLDS(x, OX_F16, 1.5, 2.5, 3.5);
        HOLDS(ox_div_number_(x, 2), OX_F16, 0.75, 1.25, 1.75);
        HOLDS(ox_sub_number_(ox_mul_number_(x, 4), 1), OX_F16, 2, 4, 6);
        HOLDS(ox_pow_number_(x, 2), OX_F16, 4, 16, 36);
        HOLDS(ox_fmod_number_(x, 5), OX_F16, 4, 1, 1);
        HOLDS(ox_ge_number_(x, 4), OX_F16, 1, 0, 0);
        HOLDS(ox_add_number_(i, 1), OX_I32, 8, -6, 1);
        HOLDS(ox_sub_number_(i, 1), OX_I32, 7, -7, 0);
        HOLDS(ox_mul_number_(i, 3), OX_I32, 21, -21, 0);
        HOLDS(ox_floor_divide_number_(i, 2), OX_I32, 10, -11, 0);
        HOLDS(ox_trunc_divide_number_(i, 3), OX_I32, 3, -3, 0);
        HOLDS(ox_pow_number_(i, 2), OX_I32, 9, 9, 0);
        HOLDS(ox_remainder_number_(i, 4), OX_I32, 1, 1, 0);
        HOLDS(ox_eq_number_(i, 1), OX_I32, 1, 1, 0);
        HOLDS(ox_add_number_(OF(OX_I8, 44), 300), OX_I8, 88);
        HOLDS(ox_eq_number_(b, 1), OX_BOOL, 1, 0);
        HOLDS(ox_lt_number_(ox_t(ox_ones(OX_SHAPE(1, 2), OX_I64)), 1.5), OX_I64, 1, 1);
        refused(ox_add_number_(i, 1.5), OX_ERR_DTYPE, "add_number_: a f32 result cannot be written into i32");
        refused(ox_div_number_(i, 2), OX_ERR_DTYPE, "div_number_");
        refused(ox_add_number_(b, 1), OX_ERR_DTYPE, "add_number_");
        refused(ox_pow_number_(i, -1), OX_ERR_ARG, "pow_number_: integers to a negative power, -1");
        refused(ox_floor_divide_number_(i, 0), OX_ERR_ARG, "floor_divide_number_: integer division by zero");
        ox_tensor *same = ox_expand(ox_ones(OX_SHAPE(1), OX_F32), OX_SHAPE(3));
        refused(ox_add_number_(same, 1), OX_ERR_ARG, "add_number_: several elements of an expanded");
        HOLDS(i, OX_I32, 1, 1, 0);
    }
    CHECK(ox_error() == OX_OK);
}

static void test_numbers_in_front(void) {
    const double inf = INFINITY, nan = NAN;
    OX_SCOPE {
        ox_tensor *x = OF(OX_F32, 4, -2, 0, -0.0, nan), *i = OF(OX_I32, 5, -3);
        HOLDS(ox_rsub_number(x, 2), OX_F32, -2, 4, 2, 2, nan);
        HOLDS(ox_rdiv_number(x, 2), OX_F32, 0.5, -1, inf, -inf, nan);
        HOLDS(ox_rdiv_number(OF(OX_F32, 3), 2), OX_F32, (double)(2.0f / 3.0f));
        HOLDS(ox_rpow_number(x, 2), OX_F32, 16, 0.25, 1, 1, nan);
        HOLDS(ox_rpow_number(OF(OX_F32, nan, inf), 1), OX_F32, 1, 1);
        HOLDS(ox_rpow_number(OF(OX_F32, 0, -1, nan), 0), OX_F32, 1, inf, nan);
        HOLDS(ox_rremainder_number(i, 7.5), OX_F32, 2.5, -1.5);
        HOLDS(ox_rfloor_divide_number(OF(OX_I32, 2), 7.5), OX_F32, 3);
        HOLDS(ox_rsub_number(i, 2.5), OX_F32, -2.5, 5.5);
        HOLDS(ox_rpow_number(OF(OX_I32, 2, -1), 2.5), OX_F32, 6.25, (double)0.4f);
        HOLDS(ox_sub(ox_integer(2), i), OX_I32, -3, 5);
        HOLDS(ox_remainder(ox_integer(7), i), OX_I32, 2, -2);
        HOLDS(ox_floor_divide(ox_integer(7), OF(OX_I32, 2, -2)), OX_I32, 3, -4);
        HOLDS(ox_real(ox_rdiv_number(OF(OX_C64, 4), 2)), OX_F32, 0.5);
        refused(ox_rsub_number(OF(OX_BOOL, 1), 1), OX_ERR_DTYPE, "rsub_number");
        refused(ox_remainder(ox_integer(7), OF(OX_I32, 0)), OX_ERR_ARG, "integer division by zero");
    }
    CHECK(ox_error() == OX_OK);
}

static ox_tensor *halves(ox_tensor *x) { return ox_floor_divide_number(x, 2); }
static ox_tensor *from_one(ox_tensor *x) { return ox_rsub_number(x, 1); }
static ox_tensor *threes(ox_tensor *x) { return ox_ge_number(x, 3); }
static ox_tensor *more(ox_tensor *x) { return ox_add_number_(ox_t(ox_clone(x)), 3); }

static void test_numbers_of_views(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_BF16, OX_I32, OX_I64};
    for (int d = 0; d < 4; d++)
        OX_SCOPE {
            VIEWS(halves, square(dtypes[d]));
            VIEWS(from_one, square(dtypes[d]));
            VIEWS(threes, square(dtypes[d]));
            VIEWS(more, ox_expand(square(dtypes[d]), OX_SHAPE(4, 4)));
        }
    CHECK(ox_error() == OX_OK);
}

/* ---- division with a rounding mode --------------------------------------------------------------------- */

static ox_tensor *floored(ox_tensor *x) { return ox_div_mode(x, ox_number(2.5), "floor"); }
static ox_tensor *truncated(ox_tensor *x) { return ox_div_mode(x, ox_integer(-3), "trunc"); }

static void test_rounding_modes(void) {
    const double inf = INFINITY, nan = NAN;
    OX_SCOPE {
        ox_tensor *a = OF(OX_F32, -7, 7, -0.0, 0, inf, -inf, nan, 1, -1, 0, 5, -5, -5);
        ox_tensor *b = OF(OX_F32, 2, -2, 3, -3, 2, 3, 1, 0, 0, 0, inf, inf, -inf);
        HOLDS(ox_div_mode(a, b, "floor"), OX_F32,
              -4, -4, -0.0, -0.0, nan, nan, nan, inf, -inf, nan, 0, -1, 0);
        HOLDS(ox_div_mode(a, b, "trunc"), OX_F32,
              -3, -3, -0.0, -0.0, inf, -inf, nan, inf, -inf, nan, 0, -0.0, 0);
        HOLDS(ox_div_mode(a, b, NULL), OX_F32,
              -3.5, -3.5, -0.0, -0.0, inf, -inf, nan, inf, -inf, nan, 0, -0.0, 0);
        ox_tensor *c = OF(OX_F32, 1, -1, 0.1, 6, -0.1), *d = OF(OX_F32, 0.1, 0.1, -3, 0.1, 3);
        HOLDS(ox_div_mode(c, d, "floor"), OX_F32, 9, -10, -1, 59, -1);
        HOLDS(ox_div_mode(c, d, "trunc"), OX_F32, 10, -10, -0.0, 60, -0.0);
        HOLDS(ox_div_mode(ox_cast(c, OX_F16), ox_cast(d, OX_F16), "floor"), OX_F16, 10, -11, -1, 60, -1);
        HOLDS(ox_div_mode(ox_cast(c, OX_BF16), ox_cast(d, OX_BF16), "floor"), OX_BF16, 9, -10, -1, 59, -1);
        ox_tensor *i = OF(OX_I32, -7, 7), *j = OF(OX_I32, 2, -2);
        HOLDS(ox_div_mode(i, j, "floor"), OX_I32, -4, -4);
        HOLDS(ox_div_mode(i, j, "trunc"), OX_I32, -3, -3);
        HOLDS(ox_div_mode(i, j, NULL), OX_F32, -3.5, -3.5);
        HOLDS(ox_div_mode(i, ox_number(2), "floor"), OX_F32, -4, 3);
        HOLDS(ox_div_mode(i, ox_number(0), "trunc"), OX_F32, -inf, inf);
        HOLDS(ox_div_mode(OF(OX_I32, INT32_MIN), OF(OX_I32, -1), "trunc"), OX_I32, INT32_MIN);
        HOLDS(ox_div_mode_(ox_clone(i), j, "trunc"), OX_I32, -3, -3);
        HOLDS(ox_div_mode_(OF(OX_F32, 5), OF(OX_I32, 2), "floor"), OX_F32, 2);
        refused(ox_div_mode(i, j, "round"), OX_ERR_ARG, "div_mode: the rounding mode is NULL, \"trunc\" or");
        refused(ox_div_mode(i, ox_sub(j, j), "floor"), OX_ERR_ARG, "div_mode: integer division by zero");
        refused(ox_div_mode_(i, ox_integer(0), "trunc"), OX_ERR_ARG, "div_mode_: integer division by zero");
        refused(ox_div_mode_(i, j, NULL), OX_ERR_DTYPE, "div_mode_");
        refused(ox_div_mode_(i, ox_number(2), "trunc"), OX_ERR_DTYPE, "div_mode_");
        refused(ox_div_mode(OF(OX_C64, 1), OF(OX_C64, 1), "floor"), OX_ERR_DTYPE, "c64");
        refused(ox_div_mode(OF(OX_BOOL, 1), OF(OX_BOOL, 1), "trunc"), OX_ERR_DTYPE, "bool");
        VIEWS(floored, square(OX_F32));
        VIEWS(floored, square(OX_I16));
        VIEWS(truncated, square(OX_I64));
    }
    CHECK(ox_error() == OX_OK);
}

/* ---- bounds that are tensors --------------------------------------------------------------------------- */

static ox_tensor *between(ox_tensor *x) { return ox_clamp_tensor(x, ox_number(-3), ox_number(4)); }
static ox_tensor *below_itself(ox_tensor *x) {
    return ox_clamp_tensor(ox_full(OX_SCALAR_SHAPE, 3, x->dtype), NULL, x);
}

static void test_bounds(void) {
    const double inf = INFINITY, nan = NAN;
    OX_SCOPE {
        ox_tensor *x = OF(OX_F32, 1, 5, nan, -2, 3), *i = OF(OX_I32, 1, 5), *y;
        HOLDS(ox_clamp_tensor(x, OF(OX_F32, 2, 2, 2, nan, -inf), OF(OX_F32, 4, 4, 4, 4, 1)), OX_F32,
              2, 4, nan, nan, 1);
        HOLDS(ox_clamp_tensor(x, ox_number(4), ox_number(2)), OX_F32, 2, 2, nan, 2, 2);
        HOLDS(ox_clamp_tensor(x, NULL, ox_number(2)), OX_F32, 1, 2, nan, -2, 2);
        HOLDS(ox_clamp_tensor(x, OF(OX_F32, 2), NULL), OX_F32, 2, 5, nan, 2, 3);
        HOLDS(ox_clamp_tensor(x, NULL, ox_number(nan)), OX_F32, nan, nan, nan, nan, nan);
        HOLDS(ox_clamp_tensor(i, ox_number(2.5), NULL), OX_F32, 2.5, 5);
        HOLDS(ox_clamp_tensor(i, OF(OX_F16, 2.5, 2.5), OF(OX_I64, 3, 3)), OX_F16, 2.5, 3);
        HOLDS(ox_clamp_tensor(OF(OX_I8, 1, 5), OF(OX_I16, 200, 300), NULL), OX_I16, 200, 300);
        HOLDS(ox_clamp_tensor(OF(OX_U8, 1, 5), OF(OX_I8, -3, -3), NULL), OX_I16, 1, 5);
        HOLDS(ox_clamp_tensor(OF(OX_U8, 1, 5), ox_full(OX_SCALAR_SHAPE, -3, OX_I64), NULL), OX_U8, 253, 253);
        HOLDS(ox_clamp_tensor(OF(OX_F16, 2049, 5), OF(OX_I32, 2049, 1), ox_integer(1 << 20)), OX_F16,
              2048, 5);
        HOLDS(ox_clamp_tensor(ox_full(OX_SCALAR_SHAPE, 3, OX_F64), OF(OX_F32, 1), OF(OX_F32, 2)), OX_F32, 2);
        HOLDS(ox_clamp_tensor(OF(OX_F32, 1, 5), OF(OX_F64, 2, 2), NULL), OX_F64, 2, 5);
        HOLDS(ox_clamp_tensor(OF(OX_BOOL, 1, 0), OF(OX_BOOL, 1, 1), NULL), OX_BOOL, 1, 1);
        HOLDS(ox_clamp_tensor(ox_unsqueeze(OF(OX_F32, 1, 5), 1), OF(OX_F32, 2, 3, 4), NULL), OX_F32,
              2, 3, 4, 5, 5, 5);
        HOLDS(ox_clamp_tensor(ox_full(OX_SCALAR_SHAPE, 1, OX_I64), NULL, OF(OX_F32, -2, 3)), OX_F32, -2, 1);
        y = ox_clamp_tensor(ox_empty(OX_SHAPE(0, 3), OX_F32), OF(OX_F32, 1, 2, 3), NULL);
        CHECK(y && y->ndim == 2 && y->shape[0] == 0 && y->shape[1] == 3);
        y = ox_t(ox_reshape(OF(OX_F16, 1, 5, 2, 6), OX_SHAPE(2, 2)));
        CHECK(ox_clamp_tensor_(y, OF(OX_F32, 2, 4), ox_integer(5)) == y);
        HOLDS(ox_contiguous(y), OX_F16, 2, 4, 5, 5);
        CHECK(ox_clamp_tensor_(y, y, y) == y);
        HOLDS(ox_clamp_tensor_(i, OF(OX_I64, 2, 2), NULL), OX_I32, 2, 5);
        refused(ox_clamp_tensor(x, NULL, NULL), OX_ERR_ARG, "clamp_tensor: no bound is given");
        refused(ox_clamp_tensor(OF(OX_C64, 1), x, NULL), OX_ERR_DTYPE, "clamp_tensor: not defined for c64");
        refused(ox_clamp_tensor(x, NULL, OF(OX_C64, 1)), OX_ERR_DTYPE, "clamp_tensor: not defined for c64");
        refused(ox_clamp_tensor(x, i, NULL), OX_ERR_SHAPE, "clamp_tensor: shapes do not broadcast");
        refused(ox_clamp_tensor_(i, OF(OX_F32, 2, 2), NULL), OX_ERR_DTYPE, "clamp_tensor_: a f32 result");
        refused(ox_clamp_tensor_(OF(OX_F32, 1), NULL, OF(OX_F32, 2, 2)), OX_ERR_SHAPE, "does not fit into");
        VIEWS(between, square(OX_F32));
        VIEWS(between, square(OX_BF16));
        VIEWS(below_itself, square(OX_F64));
        VIEWS(below_itself, square(OX_I32));
    }
    CHECK(ox_error() == OX_OK);
}

/* ---- the dtype to compute in --------------------------------------------------------------------------- */

static ox_tensor *sums_as_f32(ox_tensor *x) { return ox_sum_as(x, OX_DIMS(0), true, OX_F32); }
static ox_tensor *products_as_i8(ox_tensor *x) { return ox_prod_as(x, OX_DIMS(-1), false, OX_I8); }
static ox_tensor *scan_as_f64(ox_tensor *x) { return ox_cumsum_as(x, 0, OX_F64); }
static ox_tensor *softmax_as_f32(ox_tensor *x) { return ox_softmax_as(x, 1, OX_F32); }

static void test_sums_as(void) {
    const ox_shape all = OX_ALL_DIMS;
    OX_SCOPE {
        ox_tensor *i8 = OF(OX_I8, 100, 100, 100), *h = OF(OX_F16, 60000, 60000), *f = OF(OX_F32, 1.7, 1.7);
        ox_tensor *truth = OF(OX_BOOL, 1, 1, 0), *none = ox_empty(OX_SHAPE(0, 2), OX_F16);
        HOLDS(ox_sum_as(i8, all, false, OX_DTYPE_NONE), OX_I64, 300);
        HOLDS(ox_sum_as(i8, all, false, OX_I8), OX_I8, 44);
        HOLDS(ox_sum_as(i8, all, false, OX_F16), OX_F16, 300);
        HOLDS(ox_sum_as(OF(OX_I32, INT32_MAX, 1), all, false, OX_I32), OX_I32, INT32_MIN);
        HOLDS(ox_sum_as(OF(OX_I32, 300, 2), all, false, OX_U8), OX_U8, 46);
        HOLDS(ox_sum_as(f, all, false, OX_I64), OX_I64, 2);
        HOLDS(ox_sum_as(truth, all, false, OX_U8), OX_U8, 2);
        HOLDS(ox_sum_as(truth, all, false, OX_BOOL), OX_BOOL, 1);
        HOLDS(ox_sum_as(h, all, false, OX_F32), OX_F32, 120000);
        HOLDS(ox_sum_as(OF(OX_F32, 60000, 60000, -60000), all, false, OX_F16), OX_F16, 60000);
        HOLDS(ox_sum_as(none, OX_DIMS(0), false, OX_F32), OX_F32, 0, 0);
        HOLDS(ox_real(ox_sum_as(f, all, true, OX_C64)), OX_F32, (double)(1.7f + 1.7f));
        HOLDS(ox_sum_as(OF(OX_C64, 1, 3), all, false, OX_F32), OX_F32, 4);
        HOLDS(ox_mean_as(OF(OX_I32, 1, 2), all, false, OX_F32), OX_F32, 1.5);
        HOLDS(ox_mean_as(truth, OX_DIMS(0), true, OX_F64), OX_F64, 2.0 / 3);
        HOLDS(ox_mean_as(h, all, false, OX_F32), OX_F32, 60000);
        HOLDS(ox_mean_as(h, all, false, OX_DTYPE_NONE), OX_F16, 60000);
        HOLDS(ox_prod_as(i8, all, false, OX_I16), OX_I16, 16960);
        HOLDS(ox_prod_as(OF(OX_I32, 100, 100), all, false, OX_I8), OX_I8, 16);
        HOLDS(ox_prod_as(OF(OX_I32, 3, 0), all, false, OX_BOOL), OX_BOOL, 0);
        HOLDS(ox_prod_as(OF(OX_F32, 2.9, 2.9), all, false, OX_I64), OX_I64, 4);
        HOLDS(ox_prod_as(OF(OX_F16, 300, 300), all, false, OX_F32), OX_F32, 90000);
        refused(ox_mean_as(f, all, false, OX_I64), OX_ERR_DTYPE, "mean_as: not defined for i64");
        refused(ox_mean_as(OF(OX_I32, 1), all, false, OX_DTYPE_NONE), OX_ERR_DTYPE, "mean_as");
        refused(ox_sum_as(f, OX_DIMS(1), false, OX_F64), OX_ERR_DIM, "sum_as: dim 1");
        refused(ox_sum_as(f, all, false, (ox_dtype)77), OX_ERR_DTYPE, "sum_as: dtype 77 does not exist");
        VIEWS(sums_as_f32, square(OX_F16));
        VIEWS(sums_as_f32, square(OX_I32));
        VIEWS(products_as_i8, square(OX_I64));
    }
    CHECK(ox_error() == OX_OK);
}

static void test_scans_and_rows_as(void) {
    OX_SCOPE {
        ox_tensor *i8 = OF(OX_I8, 100, 100, 100), *f = OF(OX_F32, 1.7, 1.7), *h = OF(OX_F16, 0, 0);
        HOLDS(ox_cumsum_as(i8, 0, OX_I8), OX_I8, 100, -56, 44);
        HOLDS(ox_cumsum_as(i8, 0, OX_F32), OX_F32, 100, 200, 300);
        HOLDS(ox_cumsum_as(i8, 0, OX_DTYPE_NONE), OX_I64, 100, 200, 300);
        HOLDS(ox_cumsum_as(f, -1, OX_I64), OX_I64, 1, 2);
        HOLDS(ox_cumprod_as(OF(OX_I32, 100, 100), 0, OX_I8), OX_I8, 100, 16);
        HOLDS(ox_cumprod_as(OF(OX_F16, 300, 300), 0, OX_F32), OX_F32, 300, 90000);
        HOLDS(ox_softmax_as(h, 0, OX_F32), OX_F32, 0.5, 0.5);
        HOLDS(ox_softmax_as(OF(OX_I32, 7, 7), 0, OX_F64), OX_F64, 0.5, 0.5);
        HOLDS(ox_softmax_as(OF(OX_BOOL, 0, 0), 0, OX_F16), OX_F16, 0.5, 0.5);
        HOLDS(ox_softmax_as(h, 0, OX_DTYPE_NONE), OX_F16, 0.5, 0.5);
        HOLDS(ox_log_softmax_as(OF(OX_F16, 3), 0, OX_F64), OX_F64, 0);
        CHECK(ox_equal(ox_softmax_as(square(OX_F16), 0, OX_F32), ox_softmax(square(OX_F32), 0)));
        CHECK(ox_equal(ox_log_softmax_as(square(OX_I32), 1, OX_F32), ox_log_softmax(square(OX_F32), 1)));
        refused(ox_cumsum_as(i8, 0, OX_BOOL), OX_ERR_DTYPE, "cumsum_as: not defined for bool");
        refused(ox_cumprod_as(i8, 1, OX_F32), OX_ERR_DIM, "cumprod_as: dim 1");
        refused(ox_softmax_as(f, 0, OX_I64), OX_ERR_DTYPE, "softmax_as: not defined for i64");
        refused(ox_log_softmax_as(f, 0, OX_C64), OX_ERR_DTYPE, "log_softmax_as: not defined for c64");
        VIEWS(scan_as_f64, square(OX_I16));
        VIEWS(softmax_as_f32, square(OX_BF16));
    }
    CHECK(ox_error() == OX_OK);
}

/* ---- scalars ------------------------------------------------------------------------------------------- */

static bool is_scalar(ox_scalar s, ox_dtype dtype, int64_t integer, double real, double imaginary) {
    return s.dtype == dtype && s.integer == integer && s.real == real && s.imaginary == imaginary;
}

/* What a double does not hold comes out as it went in. */
static void test_scalars_out(void) {
    const int64_t odd = ((int64_t)1 << 53) + 1;
    OX_SCOPE {
        ox_tensor *z = ox_full_scalar(OX_SHAPE(2, 2), ox_scalar_complex(1.5, -2), OX_DTYPE_NONE);
        ox_tensor *wide = ox_full_scalar(OX_SHAPE(1), ox_scalar_int(odd), OX_DTYPE_NONE);
        ox_tensor *most = ox_full_scalar(OX_SHAPE(1), ox_scalar_uint(UINT64_MAX), OX_U64);
        CHECK(wide && wide->dtype == OX_I64 && ox_item_int(wide) == odd);
        CHECK(is_scalar(ox_item_scalar(wide), OX_I64, odd, 0, 0));
        CHECK((uint64_t)ox_item_int(most) == UINT64_MAX && ox_item(most) == 18446744073709551616.0);
        CHECK(is_scalar(ox_item_scalar(most), OX_U64, -1, 0, 0));
        CHECK(is_scalar(ox_item_scalar(ox_select(ox_select(ox_t(z), 0, 1), 0, 0)), OX_C64, 0, 1.5, -2));
        CHECK(is_scalar(ox_item_scalar(OF(OX_BOOL, 1)), OX_BOOL, 1, 0, 0));
        CHECK(is_scalar(ox_item_scalar(OF(OX_I8, -5)), OX_I64, -5, 0, 0));
        CHECK(is_scalar(ox_item_scalar(OF(OX_U32, 4294967295.0)), OX_I64, 4294967295, 0, 0));
        CHECK(is_scalar(ox_item_scalar(OF(OX_BF16, 1.5)), OX_F64, 0, 1.5, 0));
        CHECK(is_scalar(ox_item_scalar(ox_integer(odd)), OX_I64, odd, 0, 0));
        CHECK(ox_item(z ? ox_narrow(ox_flatten(z, 0, -1), 0, 1, 1) : NULL) == 1.5);
        CHECK(ox_item_scalar(z).dtype == OX_DTYPE_NONE && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
    }
    CHECK(ox_error() == OX_OK);
}

/* As numbers they promote by category, and count exactly. */
static void test_scalars_as_operands(void) {
    const int64_t odd = ((int64_t)1 << 53) + 1;
    OX_SCOPE {
        ox_tensor *wide = ox_full_scalar(OX_SHAPE(2), ox_scalar_int(odd), OX_I64), *i = OF(OX_I32, 1, 2);
        ox_tensor *one = ox_from_scalar(ox_scalar_complex(0, 1)), *b = ox_from_scalar(ox_scalar_bool(true));
        HOLDS(ox_eq(wide, ox_from_scalar(ox_scalar_int(odd))), OX_BOOL, 1, 1);
        HOLDS(ox_eq(wide, ox_from_scalar(ox_scalar_int(odd - 1))), OX_BOOL, 0, 0);
        HOLDS(ox_sub(wide, ox_from_scalar(ox_scalar_int(odd - 3))), OX_I64, 3, 3);
        HOLDS(ox_add(i, ox_from_scalar(ox_scalar_float(0.5))), OX_F32, 1.5, 2.5);
        HOLDS(ox_mul(i, b), OX_I32, 1, 2);
        HOLDS(ox_eq(OF(OX_U64, 1), ox_from_scalar(ox_scalar_uint(UINT64_MAX))), OX_BOOL, 0);
        CHECK(ox_item_int(ox_add(OF(OX_U64, 1), ox_from_scalar(ox_scalar_uint(UINT64_MAX - 1)))) == -1);
        HOLDS(ox_real(ox_mul(OF(OX_F32, 1, 2), one)), OX_F32, 0, 0);
        HOLDS(ox_imag(ox_mul(OF(OX_F32, 1, 2), one)), OX_F32, 1, 2);
        HOLDS(ox_imag(ox_add(i, one)), OX_F32, 1, 1);
        HOLDS(ox_eq(ox_mul(i, one), one), OX_BOOL, 1, 0);
        CHECK(ox_clamp_tensor(wide, ox_from_scalar(ox_scalar_int(odd + 2)), NULL) &&
              ox_item_int(ox_amax(ox_clamp_tensor(wide, ox_from_scalar(ox_scalar_int(odd + 2)), NULL),
                                  OX_ALL_DIMS, false)) == odd + 2);
    }
    CHECK(ox_error() == OX_OK);
}

static void test_scalars_in(void) {
    const int64_t odd = ((int64_t)1 << 53) + 1;
    OX_SCOPE {
        ox_tensor *x = ox_zeros(OX_SHAPE(2), OX_I64), *mask = OF(OX_BOOL, 1, 0);
        ox_tensor *z = ox_zeros(OX_SHAPE(2), OX_C64);
        ox_scalar three = ox_scalar_int(3), i = ox_scalar_complex(1, 2), none = ox_item_scalar(ox_integer(0));
        none.dtype = OX_DTYPE_NONE;
        HOLDS(ox_full_scalar(OX_SHAPE(2), three, OX_DTYPE_NONE), OX_I64, 3, 3);
        HOLDS(ox_full_scalar(OX_SHAPE(2), ox_scalar_float(3), OX_DTYPE_NONE), OX_F32, 3, 3);
        HOLDS(ox_full_scalar(OX_SHAPE(2), ox_scalar_bool(true), OX_DTYPE_NONE), OX_BOOL, 1, 1);
        HOLDS(ox_full_scalar(OX_SHAPE(2), ox_scalar_float(2.5), OX_I64), OX_I64, 2, 2);
        HOLDS(ox_full_scalar(OX_SHAPE(2), ox_scalar_int(-255), OX_U8), OX_U8, 1, 1);
        HOLDS(ox_full_scalar(OX_SHAPE(2), i, OX_BOOL), OX_BOOL, 1, 1);
        HOLDS(ox_full_scalar(OX_SHAPE(2), ox_scalar_complex(2, 0), OX_F32), OX_F32, 2, 2);
        HOLDS(ox_full_scalar(OX_SHAPE(2), ox_scalar_float(INFINITY), OX_F16), OX_F16, INFINITY, INFINITY);
        CHECK(ox_numel(ox_full_scalar(OX_SHAPE(0, 2), three, OX_U8)) == 0);
        CHECK(ox_item_int(ox_amax(ox_fill_scalar_(x, ox_scalar_int(odd)), OX_ALL_DIMS, false)) == odd);
        HOLDS(ox_imag(ox_fill_scalar_(z, i)), OX_F32, 2, 2);
        HOLDS(ox_imag(ox_masked_fill_scalar(ox_zeros_like(z), mask, i)), OX_F32, 2, 0);
        CHECK(ox_item_int(ox_select(ox_masked_fill_scalar(ox_zeros(OX_SHAPE(2), OX_I64), mask,
                                                          ox_scalar_int(odd)),
                                    0, 0)) == odd);
        HOLDS(ox_masked_fill_scalar_(OF(OX_I64, 7, 8), mask, ox_scalar_float(2.5)), OX_I64, 2, 8);
        HOLDS(ox_fill_scalar_(ox_t(ox_zeros(OX_SHAPE(2, 1), OX_I16)), ox_scalar_int(-7)), OX_I16, -7, -7);
        refused(ox_full_scalar(OX_SHAPE(2), ox_scalar_int(300), OX_I8), OX_ERR_ARG,
                "full_scalar: 300 does not fit i8");
        refused(ox_full_scalar(OX_SHAPE(2), ox_scalar_int(-256), OX_U8), OX_ERR_ARG, "does not fit u8");
        refused(ox_full_scalar(OX_SHAPE(2), ox_scalar_uint(UINT64_MAX), OX_I64), OX_ERR_ARG,
                "18446744073709551615 does not fit i64");
        refused(ox_full_scalar(OX_SHAPE(2), i, OX_F32), OX_ERR_ARG, "full_scalar: 1+2i does not fit f32");
        refused(ox_full_scalar(OX_SHAPE(2), ox_scalar_float(NAN), OX_I32), OX_ERR_ARG, "does not fit i32");
        refused(ox_fill_scalar_(x, i), OX_ERR_ARG, "fill_scalar_: 1+2i does not fit i64");
        refused(ox_masked_fill_scalar_(x, mask, i), OX_ERR_ARG, "masked_fill_scalar_: 1+2i does not fit i64");
        refused(ox_masked_fill_scalar(x, x, three), OX_ERR_DTYPE, "masked_fill_scalar");
        refused(ox_from_scalar(none), OX_ERR_ARG, "from_scalar");
        CHECK(ox_item_int(ox_amin(x, OX_ALL_DIMS, false)) == odd);
    }
    CHECK(ox_error() == OX_OK);
}

/* ---- ramps without a dtype ----------------------------------------------------------------------------- */

static void test_ramps(void) {
    static const uint32_t tenths[] = {0x00000000, 0x3dcccccd, 0x3e4ccccd, 0x3e99999a, 0x3ecccccd,
                                      0x3f000000, 0x3f19999a, 0x3f333333, 0x3f4ccccd, 0x3f666666};
    OX_SCOPE {
        ox_tensor *x = ox_arange(0, 1, 0.1, OX_DTYPE_NONE);
        CHECK(x && x->dtype == OX_F32 && x->shape[0] == 10);
        CHECK(x && x->shape[0] == 10 && memcmp(ox_data(ox_contiguous(x)), tenths, sizeof tenths) == 0);
        HOLDS(ox_arange(0, 3, 1, OX_DTYPE_NONE), OX_I64, 0, 1, 2);
        HOLDS(ox_arange(0.5, 3, 1, OX_DTYPE_NONE), OX_F32, 0.5, 1.5, 2.5);
        HOLDS(ox_arange(0, 2.5, 1, OX_DTYPE_NONE), OX_F32, 0, 1, 2);
        HOLDS(ox_arange(2, 0, -0.5, OX_DTYPE_NONE), OX_F32, 2, 1.5, 1, 0.5);
        HOLDS(ox_arange(-0.5, -3, -1, OX_DTYPE_NONE), OX_F32, -0.5, -1.5, -2.5);
        HOLDS(ox_arange(0, 2.5, 1, OX_I64), OX_I64, 0, 1, 2);
        HOLDS(ox_arange(0, 9007199254740992.0, 4503599627370496.0, OX_DTYPE_NONE), OX_I64, 0,
              4503599627370496.0);
        x = ox_arange(1, 1, 0.5, OX_DTYPE_NONE);
        CHECK(x && x->dtype == OX_F32 && ox_numel(x) == 0);
        x = ox_arange(0, 1, INFINITY, OX_DTYPE_NONE);
        CHECK(x && x->dtype == OX_F32);
        refused(ox_arange(0, 1, NAN, OX_DTYPE_NONE), OX_ERR_ARG, "finite");
        refused(ox_arange(0, -1, 0.1, OX_DTYPE_NONE), OX_ERR_ARG, "leads away");
    }
    CHECK(ox_error() == OX_OK);
}

int main(void) {
    test_bytes();
    test_powers();
    test_numbers_behind();
    test_whole_numbers();
    test_numbers_in_place();
    test_numbers_in_front();
    test_numbers_of_views();
    test_rounding_modes();
    test_bounds();
    test_sums_as();
    test_scans_and_rows_as();
    test_scalars_out();
    test_scalars_as_operands();
    test_scalars_in();
    test_ramps();
    return check_done("numbers");
}
