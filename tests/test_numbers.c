/* test_numbers.c - numbers beside tensors: the forms with a number, integer powers, divisions with a rounding
 * mode, bounds that are tensors, dtypes of results; every expected number is torch 2.14's.
 * OX_TIERS OX_QEMU OX_VULKAN */
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

int main(void) {
    test_bytes();
    test_powers();
    return check_done("numbers");
}
