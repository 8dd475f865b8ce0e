/* Results larger than caches, which some kernels write past them: every byte is there, also at odd sizes
 * and addresses, for other threads too. OX_VULKAN_LONG OX_TIERS OX_TSAN */
#include "oxtorch.h"
#include "check.h"

#include <math.h>

#define COUNT (2 * 1024 * 1024 + 517) /* f32: somewhat more than 8 MiB */

/* Small whole numbers, so that sums and products are exact. */
static ox_tensor *numbers(int64_t count, int64_t scale) {
    ox_tensor *x = ox_empty(OX_SHAPE(count), OX_F32);
    float *p = (float *)ox_data(x);
    for (int64_t i = 0; i < count; i++) p[i] = (float)((i * scale) % 2039 - 1019);
    return x;
}

/* How many elements of `got` differ from a + factor * b (relu: from max(a, 0)). */
static int64_t wrong(const ox_tensor *got, const float *a, const float *b, float factor, bool relu) {
    const float *p = (const float *)ox_data(got);
    int64_t count = ox_numel(got), differ = 0;
    for (int64_t i = 0; i < count; i++) {
        float want = relu ? (a[i] > 0 ? a[i] : 0) : a[i] + factor * (b ? b[i] : 1);
        differ += p[i] != want;
    }
    return differ;
}

static void test_maps(int threads) {
    ox_set_threads(threads);
    ox_tensor *x = numbers(COUNT, 7), *y = numbers(COUNT, 11);
    const float *a = (const float *)ox_data(x), *b = (const float *)ox_data(y);
    ox_tensor *r = ox_relu(x), *sum = ox_add(x, y), *plus = ox_add_number(x, 3);
    CHECK(r && wrong(r, a, NULL, 0, true) == 0);
    CHECK(sum && wrong(sum, a, b, 1, false) == 0);
    CHECK(plus && wrong(plus, a, NULL, 3, false) == 0);
    CHECK(ox_relu_(x) == x);                              /* where an operand lies */
    CHECK(wrong(x, (const float *)ox_data(r), NULL, 0, false) == 0);

    /* A destination that starts between vectors, a byte of nothing else changed. */
    ox_tensor *base = ox_full(OX_SHAPE(COUNT), 9, OX_F32), *part = ox_slice(base, 0, 3, COUNT - 2, 1);
    ox_tensor *y_part = ox_slice(y, 0, 0, COUNT - 5, 1);
    CHECK(ox_mul_(part, y_part) == part);
    const float *p = (const float *)ox_data(base);
    int64_t differ = 0;
    for (int64_t i = 0; i < COUNT; i++) differ += p[i] != (i < 3 || i >= COUNT - 2 ? 9 : 9 * b[i - 3]);
    CHECK_MSG(differ == 0, "%lld of %d", (long long)differ, COUNT);
    ox_tensor *const all[] = {x, y, r, sum, plus, base, part, y_part};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ox_release(all[i]);

    ox_tensor *wide = ox_full(OX_SHAPE(COUNT / 2 + 1), 2, OX_F64), *square = ox_square(wide);
    const double *q = (const double *)ox_data(square);
    differ = 0;
    for (int64_t i = 0; i < COUNT / 2 + 1; i++) differ += q[i] != 4;
    CHECK(differ == 0);
    ox_release(wide);
    ox_release(square);
}

/* Rows of n elements, n odd: layer_norm and rms_norm against sums in double. */
static void test_norms(int threads, int64_t n) {
    ox_set_threads(threads);
    int64_t rows = COUNT / n + 1;
    ox_tensor *flat = numbers(rows * n, 13), *x = ox_view(flat, OX_SHAPE(rows, n));
    ox_tensor *weight = numbers(n, 3), *bias = numbers(n, 5);
    ox_tensor *layer = ox_layer_norm(x, 1, weight, bias, 1e-5), *rms = ox_rms_norm(x, 1, weight, 1e-5);
    const float *a = (const float *)ox_data(x), *w = (const float *)ox_data(weight),
                *b = (const float *)ox_data(bias);
    const float *l = (const float *)ox_data(layer), *r = (const float *)ox_data(rms);
    int64_t differ = 0;
    for (int64_t i = 0; i < rows; i++, a += n, l += n, r += n) {
        double mean = 0, squares = 0, spread = 0;
        for (int64_t j = 0; j < n; j++) mean += a[j], squares += (double)a[j] * a[j];
        mean /= (double)n;
        for (int64_t j = 0; j < n; j++) spread += (a[j] - mean) * (a[j] - mean);
        double scale = 1 / sqrt(spread / (double)n + 1e-5), root = 1 / sqrt(squares / (double)n + 1e-5);
        for (int64_t j = 0; j < n; j++) {
            double want = (a[j] - mean) * scale * w[j] + b[j], most = fabs(b[j]) + 3 * fabs((double)w[j]) + 1;
            differ += !(fabs(l[j] - want) <= 1e-6 * most);
            differ += !(fabs(r[j] - a[j] * root * w[j]) <= 1e-6 * most);
        }
    }
    CHECK_MSG(differ == 0, "%lld numbers of rows of %lld", (long long)differ, (long long)n);
    ox_tensor *const all[] = {flat, x, weight, bias, layer, rms};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ox_release(all[i]);
}

int main(void) {
    for (int threads = 1; threads <= 2; threads++) {
        test_maps(threads);
        test_norms(threads, 999);
        test_norms(threads, 3001);
        test_norms(threads, 17);
    }
    CHECK(ox_error() == OX_OK);
    return check_done("large");
}
