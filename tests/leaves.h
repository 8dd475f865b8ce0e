/* Small f64 variables of one dim, and checks of their numbers, for tests of the tape. */
#ifndef OX_TEST_LEAVES_H
#define OX_TEST_LEAVES_H
#include "check.h"

#include <math.h>
#include <string.h>

static ox_tensor *line(double first, double step, int64_t n) {
    ox_tensor *x = ox_empty(OX_SHAPE(n), OX_F64);
    double *numbers = (double *)ox_data(x);
    for (int64_t i = 0; i < n; i++) numbers[i] = first + step * (double)i;
    return x;
}

static ox_tensor *leaf(int64_t n, double first, double step) {
    return ox_requires_grad_(line(first, step, n), true);
}

static ox_tensor *total(ox_tensor *x) {
    return ox_sum(x, OX_ALL_DIMS, false);
}

static bool are(ox_tensor *t, int count, const double *expected) {
    double got[64];
    if (!t || ox_numel(t) != count || ox_to_doubles(t, got, count) != OX_OK) return false;
    for (int i = 0; i < count; i++)
        if (fabs(got[i] - expected[i]) > 1e-12 * (1 + fabs(expected[i]))) return false;
    return true;
}
#define ARE(t, ...)                                                                           \
    do {                                                                                      \
        static const double numbers[] = {__VA_ARGS__};                                        \
        CHECK_MSG(are(t, (int)(sizeof numbers / sizeof *numbers), numbers), "%s", ox_error_text()); \
    } while (0)

static void refused(ox_status status, ox_status expected, const char *words) {
    CHECK_MSG(status == expected && strstr(ox_error_text(), words), "%d %s", (int)status, ox_error_text());
    ox_error_clear();
}

#endif
