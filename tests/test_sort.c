/* sort, argsort and topk: every dtype and layout against a plain stable sort, ties, NaN, long rows, threads.
 * OX_VULKAN(sort topk) OX_TIERS OX_TSAN OX_QEMU */
#include "operands.h"

/* ---- the plain reference: a stable merge sort of places ------------------------------------------------ */

typedef struct row {
    int64_t n, step;
    const char *first;
    ox_dtype dtype;
    bool descending;
} row;

static int compare_numbers(double a, double b) {
    if (isnan(a) || isnan(b)) return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
    return (a > b) - (a < b);
}

static int compare_places(const row *r, int64_t i, int64_t j) {
    const char *a = r->first + i * r->step, *b = r->first + j * r->step;
    int64_t x, y;
    if (!is_integral(r->dtype)) return compare_numbers(load_real(r->dtype, a), load_real(r->dtype, b));
    x = load_int(r->dtype, a);
    y = load_int(r->dtype, b);
    if (r->dtype == OX_U64) return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
    return (x > y) - (x < y);
}

static void merge_sort(const row *r, int64_t *places, int64_t *spare, int64_t n) {
    int64_t half = n / 2, left = 0, right = half;
    if (n < 2) return;
    merge_sort(r, places, spare, half);
    merge_sort(r, places + half, spare, n - half);
    for (int64_t k = 0; k < n; k++) {
        bool take_left = right >= n;
        if (left < half && right < n) {
            int order = compare_places(r, places[left], places[right]);
            take_left = r->descending ? order >= 0 : order <= 0;
        }
        spare[k] = take_left ? places[left++] : places[right++];
    }
    memcpy(places, spare, (size_t)n * sizeof *places);
}

/* ---- checking ------------------------------------------------------------------------------------------ */

/* values and indices of the first `count` along dim must be those of the stable sort, values bit by bit. */
static void check_pair(ox_pair pair, const ox_tensor *x, int dim, int64_t count, bool descending,
                       const char *how) {
    int64_t size = x->ndim ? x->shape[dim] : 1, inner = 1;
    CHECK_MSG(pair.values && pair.indices, "%s %s: %s", how, ox_dtype_name(x->dtype), ox_error_text());
    if (!pair.values || !pair.indices) {
        ox_error_clear();
        return;
    }
    CHECK(pair.values->dtype == x->dtype && pair.indices->dtype == OX_I64 && pair.values->ndim == x->ndim);
    if (ox_numel(x) == 0 || count == 0) {
        CHECK(ox_numel(pair.values) == 0 && ox_numel(pair.indices) == 0);
        return;
    }
    for (int d = dim + 1; d < x->ndim; d++) inner *= x->shape[d];
    int64_t *places = (int64_t *)malloc((size_t)size * 16), wrong = -1;
    for (int64_t line = 0; line < ox_numel(x) / size && wrong < 0; line++) {
        int64_t outer = line / inner, in = line % inner;
        row r = {size, 0, element(x, outer * size * inner + in), x->dtype, descending};
        r.step = x->ndim ? x->stride[dim] * (int64_t)width_of(x->dtype) : 0;
        for (int64_t i = 0; i < size; i++) places[i] = i;
        merge_sort(&r, places, places + size, size);
        for (int64_t i = count - 1; i >= 0; i--) {
            const char *want = r.first + places[i] * r.step;
            int64_t at = (outer * count + i) * inner + in;
            bool same = memcmp(element(pair.values, at), want, width_of(x->dtype)) == 0;
            if (!same || load_int(OX_I64, element(pair.indices, at)) != places[i]) wrong = i;
        }
    }
    CHECK_MSG(wrong < 0, "%s of %s, %lld along dim %d, at %lld", how, ox_dtype_name(x->dtype),
              (long long)size, dim, (long long)wrong);
    free(places);
}

static void check_sorts(ox_tensor *x, int dim, const char *how) {
    int64_t size = x->ndim ? x->shape[dim] : 1;
    static const int64_t parts[] = {1, 2, 10, 30};
    for (int down = 0; down < 2; down++) {
        ox_pair pair = ox_sort(x, dim, down);
        check_pair(pair, x, dim, size, down, how);
        CHECK(same_bits(ox_argsort(x, dim, down), pair.indices));
        for (int k = 0; k < 4; k++) {
            int64_t count = x->ndim ? size / parts[k] : 1;
            check_pair(ox_topk(x, count, dim, down), x, dim, count, down, how);
        }
    }
}

static void test_every_dtype_and_layout(void) {
    static const int64_t shapes[][3] = {{5, 7, 3}, {3, 90, 2}, {20, 1, 45}, {0, 3, 2},
                                        {2, 0, 3}, {1, 1, 1},  {2, 3, 150}};
    for (int s = 0; s < 7; s++) {
        for (int d = 1; d <= PLAIN_DTYPES; d++) {
            for (int l = 0; l < LAYOUT_COUNT; l++)
                OX_SCOPE {
                    if (d == OX_C64) continue;
                    ox_tensor *x = random_layout((layout)l, DOMAIN_ANY, 3, shapes[s], (ox_dtype)d);
                    check_sorts(x, s < 2 ? 1 : (s + l) % 3, layout_name((layout)l));
                }
        }
    }
}

/* ---- ties, NaN, signed zeros, edges of the integers ---------------------------------------------------- */

static void test_special_values(void) {
    static const double values[] = {0.0, -0.0, NAN, 3,     -INFINITY, 1, INFINITY, 3,
                                    NAN, -3,   0.0, 1e-40, -1e-40,    3, -0.0,     65504};
    static const ox_dtype dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16, OX_F8_E5M2};
    for (int d = 0; d < 5; d++)
        OX_SCOPE {
            ox_tensor *once = ox_from_doubles(values, OX_SHAPE(16), dtypes[d]);
            ox_tensor *list[20];
            for (int i = 0; i < 20; i++) list[i] = once;
            check_sorts(once, 0, "special values");
            check_sorts(ox_cat(list, 20, 0), 0, "many special values");
            ox_pair down = ox_sort(once, 0, true);
            CHECK(load_int(OX_I64, element(down.indices, 0)) == 2 &&
                  load_int(OX_I64, element(down.indices, 1)) == 8);
        }
    OX_SCOPE {
        static const int64_t edges[] = {INT64_MAX, INT64_MIN, 0,   -1,  1,   INT64_MIN + 1,
                                        INT32_MIN, INT32_MAX, 128, 127, 255, 32768};
        for (int d = OX_U8; d <= OX_I64; d++)
            check_sorts(ox_from_ints(edges, OX_SHAPE(12), (ox_dtype)d), 0, "edges");
        check_sorts(ox_full(OX_SHAPE(500), 7, OX_I64), 0, "all equal");
        check_sorts(ox_full(OX_SCALAR_SHAPE, 7, OX_F32), 0, "a number");
        CHECK(ox_sort(NULL, 0, false).values == NULL && ox_topk(NULL, 1, 0, true).indices == NULL);
        ox_error_clear();
        CHECK(!ox_topk(ox_zeros(OX_SHAPE(3), OX_F32), 4, 0, true).values && ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
}

/* Sorted, reversed and saw-toothed rows, as many as a heap meets at its worst. */
static void test_long_rows(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_I64, OX_F16, OX_I32, OX_F64};
    for (int d = 0; d < 5; d++) {
        for (int kind = 0; kind < 4; kind++)
            OX_SCOPE {
                ox_tensor *x = ox_empty(OX_SHAPE(9001), dtypes[d]);
                for (int64_t i = 0; i < 9001; i++) {
                    double value = (double)(kind == 0 ? i % 2048 : kind == 1 ? -(i / 10) : i % 37);
                    if (kind == 3) value = test_uniform() * 1000 - 500;
                    store_real(dtypes[d], element(x, i), value);
                }
                check_sorts(x, 0, "long");
            }
    }
}

static void test_thread_counts(void) {
    OX_SCOPE {
        static double values[MOST_ELEMENTS];
        random_values(DOMAIN_MODEST, OX_F32, 3 * 2500, values);
        ox_tensor *x = ox_expand(ox_from_data(values, OX_SHAPE(1, 3, 2500), OX_F32), OX_SHAPE(20, 3, 2500));
        ox_pair first = {NULL, NULL}, best = {NULL, NULL};
        for (int threads = 1; threads <= 5; threads += 2) {
            ox_set_threads(threads);
            ox_pair pair = ox_sort(x, 2, false), top = ox_topk(x, 9, 2, true);
            if (!first.values) {
                first = pair;
                best = top;
            }
            CHECK(same_bits(first.values, pair.values) && same_bits(first.indices, pair.indices));
            CHECK(same_bits(best.values, top.values) && same_bits(best.indices, top.indices));
        }
        ox_set_threads(0);
    }
}

int main(void) {
    test_every_dtype_and_layout();
    test_special_values();
    test_long_rows();
    test_thread_counts();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    return check_done("sort");
}
