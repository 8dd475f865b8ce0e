/* Copies: every layout to every layout, every dtype to every dtype, block types, numbers of threads.
 * OX_TIERS OX_TSAN OX_QEMU OX_VULKAN_LONG */
#include "backwards.h"
#include "operands.h"

/* ---- the same dtype: bits move, everything beside them stays ------------------------------------------- */

/* Copies a view in one layout onto a view in another and looks at every byte under the second. */
static void check_layouts(layout from, layout to, int ndim, const int64_t *shape, ox_dtype dtype) {
    OX_SCOPE {
        ox_tensor *base = NULL, *x = random_layout(from, DOMAIN_ANY, ndim, shape, dtype);
        ox_tensor *y = new_layout(to, ndim, shape, dtype, &base), *same_base = NULL,
                  *want = new_layout(to, ndim, shape, dtype, &same_base);
        CHECK(ox_copy_(y, x) == y);
        for (int64_t i = 0; i < ox_numel(x); i++) memcpy(element(want, i), element(x, i), width_of(dtype));
        bool same = ox_nbytes(base) == 0 || memcmp(ox_data(base), ox_data(same_base), ox_nbytes(base)) == 0;
        CHECK_MSG(same, "%s%s, %s to %s", ox_dtype_name(dtype), ndim > 1 ? " matrix" : "", layout_name(from),
                  layout_name(to));
        ox_tensor *clone = ox_clone(x);
        CHECK_MSG(ox_is_contiguous(clone) && same_bits(clone, x), "clone of %s, %s", ox_dtype_name(dtype),
                  layout_name(from));
    }
}

static void test_layouts(void) {
    static const int64_t shapes[][4] = {{5, 7}, {70, 37}, {3, 33, 20}, {2, 3, 5, 4}, {1, 9},   {11},
                                        {1},    {0, 4},   {3, 0},      {0},          {9, 1, 3}};
    static const int ndims[] = {2, 2, 3, 4, 2, 1, 1, 2, 2, 0, 3};
    static const ox_dtype dtypes[] = {OX_U8, OX_BF16, OX_F32, OX_C64};
    for (int s = 0; s < 11; s++)
        for (int from = 0; from < LAYOUT_COUNT; from++)
            for (int to = 0; to < LAYOUT_COUNT; to++) {
                if (to == LAYOUT_EXPANDED_FIRST || to == LAYOUT_EXPANDED_LAST) continue;
                ox_dtype dtype = dtypes[(s + from + to) % 4];
                check_layouts((layout)from, (layout)to, ndims[s], shapes[s], dtype);
                if (s == 1)
                    check_layouts((layout)from, (layout)to, ndims[s], shapes[s], dtypes[(from + to) % 4]);
            }
    for (int d = 1; d <= PLAIN_DTYPES; d++)
        check_layouts(LAYOUT_TRANSPOSED, LAYOUT_PLAIN, 2, shapes[1], (ox_dtype)d);
}

/* Every permutation of the dims of [6,10,70]: which dims are long differs. */
static void test_permutations(void) {
    static const int64_t order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const ox_dtype dtypes[] = {OX_I8, OX_F16, OX_I32, OX_F64};
    const int64_t shape[3] = {6, 10, 70};
    for (int d = 0; d < 4; d++)
        for (int p = 0; p < 6; p++)
            for (int q = 0; q < 6; q++)
                OX_SCOPE {
                    ox_tensor *x = ox_permute(random_layout(LAYOUT_PLAIN, DOMAIN_ANY, 3, shape, dtypes[d]),
                                              ox_shape_from(3, order[p]));
                    ox_tensor *y = ox_permute(random_layout(LAYOUT_PLAIN, DOMAIN_ANY, 3, shape, dtypes[d]),
                                              ox_shape_from(3, order[q]));
                    ox_tensor *flipped = backwards(ox_clone(x), OX_DIMS(p % 3));
                    CHECK(same_bits(ox_clone(x), x));
                    CHECK(same_bits(ox_clone(flipped), flipped));
                    if (x->shape[0] == y->shape[0] && x->shape[1] == y->shape[1])
                        CHECK(ox_copy_(y, x) == y && same_bits(x, y));
                }
}

/* Rows that become columns, in sizes around the edges of tiles, forwards and backwards; out: a part of a
 * wider tensor that begins anywhere. Every element is looked at, and what lies around the result. */
static void check_turned(int64_t rows, int64_t columns, ox_dtype dtype, bool flip_rows, bool flip_columns,
                         int64_t margin) {
    OX_SCOPE {
        size_t width = width_of(dtype);
        ox_tensor *x = ox_empty(OX_SHAPE(columns, rows), dtype), *view = ox_t(x);
        ox_tensor *base = ox_zeros(OX_SHAPE(rows, columns + 2 * margin), dtype);
        unsigned char *bytes = (unsigned char *)ox_data(x), *result = (unsigned char *)ox_data(base);
        for (size_t i = 0; i < ox_nbytes(x); i++) bytes[i] = (unsigned char)(1 + test_random() % 255);
        if (flip_rows) view = backwards(view, OX_DIMS(0));
        if (flip_columns) view = backwards(view, OX_DIMS(1));
        ox_copy_(ox_narrow(base, 1, margin, columns), view);
        bool same = true;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = -margin; c < columns + margin; c++, result += width) {
                int64_t row = flip_rows ? rows - 1 - r : r, column = flip_columns ? columns - 1 - c : c;
                if (c >= 0 && c < columns)
                    same = same && memcmp(result, bytes + (column * rows + row) * (int64_t)width, width) == 0;
                else
                    for (size_t i = 0; i < width; i++) same = same && result[i] == 0;
            }
        CHECK_MSG(same, "%s [%d,%d]%s%s, margin %d", ox_dtype_name(dtype), (int)rows, (int)columns,
                  flip_rows ? ", rows backwards" : "", flip_columns ? ", columns backwards" : "",
                  (int)margin);
    }
}

static void test_tiles(void) {
    static const int64_t sides[] = {2, 3, 7, 15, 16, 17, 31, 33, 64, 65, 127, 130, 257};
    static const ox_dtype dtypes[] = {OX_U8, OX_BF16, OX_F32, OX_C64};
    for (int i = 0; i < 13; i++)
        for (int j = 0; j < 13; j++)
            check_turned(sides[i], sides[j], dtypes[(i + j) % 4], i & 1, j & 1, (i * j) % 3);
    for (int d = 0; d < 4; d++) { /* past the caches, with edges off the lines of memory */
        int64_t n = d == 0 ? 2903 : d == 1 ? 2051 : d == 2 ? 1451 : 1027;
        check_turned(n, n + 16, dtypes[d], d & 1, d & 2, 0);
        check_turned(8, 1100003 >> d, dtypes[d], false, false, 1);
        check_turned(1100003 >> d, 8, dtypes[d], false, true, 0);
        check_turned(700, 900, dtypes[d], true, false, 0);
    }
}

/* Rows cut out of wider ones into rows of wider ones: more bytes than caches hold, in short and in long runs,
 * off the lines of memory. */
static void test_large_slices(void) {
    static const int64_t lengths[] = {20, 701, 1030, 5003, 2200000};
    static const ox_dtype dtypes[] = {OX_F32, OX_BF16, OX_F64};
    for (int s = 0; s < 5; s++)
        for (int d = 0; d < 3; d++)
            OX_SCOPE {
                const int64_t n = lengths[s], rows = 2200000 * (d == 1 ? 2 : 1) / n, bytes = width_of(OX_F32);
                ox_tensor *x = ox_randn(OX_SHAPE(rows, n + 3), OX_F32);
                ox_tensor *wide = ox_zeros(OX_SHAPE(rows, n + 5), dtypes[d]), *to = ox_narrow(wide, 1, 3, n);
                CHECK(ox_copy_(to, ox_narrow(x, 1, 1, n)) == to);
                ox_tensor *back = ox_cast(wide, OX_F32), *row = ox_empty(OX_SHAPE(n), OX_F32);
                bool same = true;
                for (int64_t r = 0; r<rows; r += rows> 1000 ? 97 : 1) {
                    const float *got = (const float *)ox_data(back) + r * (n + 5);
                    memcpy(ox_data(row), (const float *)ox_data(x) + r * (n + 3) + 1, (size_t)(n * bytes));
                    const ox_tensor *want = ox_cast(ox_cast(row, dtypes[d]), OX_F32);
                    same = same && !memcmp(got + 3, ox_data(want), (size_t)(n * bytes)) && got[0] == 0 &&
                           got[1] == 0 && got[2] == 0 && got[n + 3] == 0 && got[n + 4] == 0;
                }
                CHECK_MSG(same, "%d rows of %d as %s", (int)rows, (int)n, ox_dtype_name(dtypes[d]));
            }
}

/* Short runs that stay together: as one element of 16 bytes, or none where strides are no multiples. */
static void test_widened(void) {
    static const ox_dtype dtypes[] = {OX_U8, OX_F16, OX_F32, OX_C64};
    for (int d = 0; d < 4; d++)
        for (int64_t n = 2; n <= 16; n *= 2)
            for (int64_t extra = 0; extra <= n; extra += n / 2)
                OX_SCOPE {
                    const int64_t shape[3] = {19, 13, n + extra};
                    ox_tensor *x = random_layout(LAYOUT_PLAIN, DOMAIN_ANY, 3, shape, dtypes[d]);
                    ox_tensor *view = ox_transpose(ox_narrow(x, 2, extra / 2, n), 0, 1);
                    CHECK(same_bits(ox_clone(view), view));
                    ox_tensor *into = ox_zeros(OX_SHAPE(19, 13, n), dtypes[d]);
                    ox_copy_(ox_transpose(into, 0, 1), view);
                    CHECK(same_bits(ox_transpose(into, 0, 1), view));
                }
}

/* Runs backwards and of every second element or so, of every length up to some vectors. */
static void test_gaps(void) {
    static const ox_dtype dtypes[] = {OX_I8, OX_BF16, OX_I32, OX_F64};
    for (int d = 0; d < 4; d++)
        for (int64_t n = 1; n < 140; n += n < 70 ? 1 : 9)
            for (int64_t step = -3; step <= 3; step++)
                OX_SCOPE {
                    if (step == 0) continue;
                    const int64_t shape[1] = {n * llabs(step)};
                    ox_tensor *x = random_layout(LAYOUT_PLAIN, DOMAIN_ANY, 1, shape, dtypes[d]);
                    ox_tensor *view =
                        ox_slice(step < 0 ? backwards(x, OX_DIMS(0)) : x, 0, 0, n * llabs(step), llabs(step));
                    CHECK(same_bits(ox_clone(view), view));
                }
}

static void test_broadcast_and_overlap(void) {
    OX_SCOPE {
        ox_tensor *x = ox_arange(0, 12, 1, OX_I32), *y = ox_full(OX_SHAPE(3, 4), -1, OX_I32);
        ox_copy_(y, ox_narrow(x, 0, 2, 4));
        for (int64_t i = 0; i < 12; i++) CHECK(load_int(OX_I32, element(y, i)) == 2 + i % 4);
        ox_copy_(y, ox_view(ox_narrow(x, 0, 5, 3), OX_SHAPE(3, 1)));
        for (int64_t i = 0; i < 12; i++) CHECK(load_int(OX_I32, element(y, i)) == 5 + i / 4);
        ox_copy_(ox_narrow(x, 0, 1, 11), ox_narrow(x, 0, 0, 11)); /* moves up by one over itself */
        for (int64_t i = 1; i < 12; i++) CHECK(load_int(OX_I32, element(x, i)) == i - 1);
        ox_tensor *m = ox_reshape(ox_arange(0, 9, 1, OX_F32), OX_SHAPE(3, 3));
        ox_copy_(m, ox_t(m));
        for (int64_t i = 0; i < 9; i++)
            CHECK(load_real(OX_F32, element(m, i)) == (double)(i % 3 * 3 + i / 3));
        CHECK(ox_copy_(m, m) == m && load_real(OX_F32, element(m, 1)) == 3);
        CHECK(ox_copy_(m, ox_zeros(OX_SHAPE(2, 3), OX_F32)) == NULL && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(ox_copy_(ox_expand(ox_zeros(OX_SHAPE(1, 3), OX_F32), OX_SHAPE(2, 3)),
                       ox_zeros(OX_SHAPE(2, 3), OX_F32)) == NULL);
        CHECK(ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
}

/* ---- conversions --------------------------------------------------------------------------------------- */

/* Numbers that most dtypes hold, and their edges. A dtype skips those that it does not hold. */
static const double edges[] = {0,
                               1,
                               2,
                               3,
                               7,
                               100,
                               127,
                               128,
                               200,
                               255,
                               256,
                               1000,
                               2047,
                               2049,
                               2051,
                               32767,
                               32768,
                               65504,
                               65519,
                               65520,
                               65535,
                               65536,
                               16777217,
                               16777219,
                               2147483647,
                               2147483648.0,
                               4294967295.0,
                               9007199254740991.0,
                               -1,
                               -2,
                               -100,
                               -128,
                               -129,
                               -32768,
                               -40000,
                               -2147483648.0,
                               0.5,
                               0.75,
                               1.5,
                               2.5,
                               -0.5,
                               -2.7,
                               3.14159274,
                               1e-3,
                               6e-8,
                               2.98023224e-8,
                               2.9802326e-8,
                               1e-40,
                               1e-300,
                               1e30,
                               3.5e38,
                               1e300};
enum { EDGES = (int)(sizeof edges / sizeof edges[0]) };

static bool int_holds(ox_dtype dtype, double x) {
    double bits = 8.0 * (double)width_of(dtype),
           high = is_signed_int(dtype) ? ldexp(1, (int)bits - 1) : ldexp(1, (int)bits);
    return x > (is_signed_int(dtype) ? -high - 1 : -1) && x < high;
}

/* Whether `dtype` holds x exactly. */
static bool holds(ox_dtype dtype, double x) {
    if (dtype == OX_BOOL) return x == 0 || x == 1;
    if (is_integral(dtype)) return x == floor(x) && int_holds(dtype, x);
    return round_to_format(format_of(dtype), x) == x;
}

static void check_conversion(ox_dtype from, ox_dtype to, double x, const char *got) {
    bool right;
    double value = load_real(to, got);
    if (to == OX_BOOL)
        right = value == (x != 0);
    else if (is_integral(to))
        right = load_int(to, got) == (to == OX_U64 ? (int64_t)(uint64_t)x : (int64_t)x);
    else if (to == OX_F8_E4M3 && fabs(x) > 448)
        return; /* beyond it: convert's own tests */
    else if (from == OX_F64 && value == round_to_format(format_of(to), (double)(float)x))
        return; /* as torch: by way of f32 */
    else
        right = value == round_to_format(format_of(to), x) && (value != 0 || signbit(value) == signbit(x));
    CHECK_MSG(right && load_imaginary(to, got) == 0, "%s to %s: %.17g gives %.17g", ox_dtype_name(from),
              ox_dtype_name(to), x, value);
}

static void test_conversions(void) {
    static const layout layouts[] = {LAYOUT_PLAIN, LAYOUT_STEP_LAST, LAYOUT_FLIPPED};
    for (int f = 1; f <= PLAIN_DTYPES; f++)
        for (int t = 1; t <= PLAIN_DTYPES; t++)
            for (int l = 0; l < 9; l++)
                OX_SCOPE {
                    ox_dtype from = (ox_dtype)f, to = (ox_dtype)t;
                    double kept[EDGES];
                    int64_t count = 0;
                    for (int i = 0; i < EDGES; i++) {
                        bool whole_fits = !is_integral(to) || to == OX_BOOL || int_holds(to, trunc(edges[i]));
                        if (holds(from, edges[i]) && whole_fits) kept[count++] = edges[i];
                    }
                    ox_tensor *base, *x = new_layout(layouts[l / 3], 1, &count, from, &base),
                                     *y = new_layout(layouts[l % 3], 1, &count, to, &base);
                    for (int64_t i = 0; i < count; i++) {
                        if (from == OX_U64) {
                            uint64_t u = (uint64_t)kept[i];
                            memcpy(element(x, i), &u, 8);
                        } else
                            store_real(from, element(x, i), kept[i]);
                    }
                    CHECK(ox_copy_(y, x) == y);
                    for (int64_t i = 0; i < count; i++) check_conversion(from, to, kept[i], element(y, i));
                    ox_tensor *cast = ox_cast(x, to);
                    CHECK(cast && cast->dtype == to && same_bits(ox_clone(y), cast));
                }
}

static void test_special_conversions(void) {
    OX_SCOPE {
        const double odd[] = {NAN, INFINITY, -INFINITY, -0.0};
        for (int f = 1; f <= PLAIN_DTYPES; f++) {
            ox_dtype dtype = (ox_dtype)f;
            if (!is_real_float(dtype)) continue;
            ox_tensor *x = ox_cast(ox_from_doubles(odd, OX_SHAPE(4), OX_F64), dtype);
            ox_tensor *truth = ox_cast(x, OX_BOOL), *back = ox_cast(x, OX_F64);
            CHECK(isnan(load_real(OX_F64, element(back, 0))) && signbit(load_real(OX_F64, element(back, 3))));
            CHECK(load_int(OX_BOOL, element(truth, 0)) == 1 && load_int(OX_BOOL, element(truth, 3)) == 0);
            if (dtype != OX_F8_E4M3) CHECK(load_real(OX_F64, element(back, 2)) == -INFINITY);
        }
        const int64_t wide[] = {INT64_MIN, INT64_MAX, -1, 0x123456789abcdef0, 16777217, (1ll << 53) + 1};
        ox_tensor *x = ox_from_ints(wide, OX_SHAPE(6), OX_I64);
        for (int i = 0; i < 6; i++) {
            CHECK(load_int(OX_I8, element(ox_cast(x, OX_I8), i)) == (int8_t)wide[i]);
            CHECK(load_int(OX_U16, element(ox_cast(x, OX_U16), i)) == (uint16_t)wide[i]);
            CHECK(load_int(OX_I32, element(ox_cast(x, OX_I32), i)) == (int32_t)wide[i]);
            CHECK(load_int(OX_U64, element(ox_cast(x, OX_U64), i)) == wide[i]);
            CHECK(load_int(OX_I64, element(ox_cast(ox_cast(x, OX_U64), OX_I64), i)) == wide[i]);
            CHECK(load_real(OX_F32, element(ox_cast(x, OX_F32), i)) == (double)(float)wide[i]);
            CHECK(load_real(OX_F64, element(ox_cast(x, OX_F64), i)) == (double)wide[i]);
            CHECK(load_real(OX_F32, element(ox_cast(ox_cast(x, OX_U64), OX_F32), i)) ==
                  (double)(float)(uint64_t)wide[i]);
        }
        /* complex: the imaginary part goes with the numbers, and counts as truth */
        const float c[4] = {0, 2, -1.5f, 0.25f};
        ox_tensor *z = ox_from_data(c, OX_SHAPE(2), OX_C64), *real = ox_cast(z, OX_F64),
                  *truth = ox_cast(z, OX_BOOL);
        CHECK(load_real(OX_F64, element(real, 1)) == -1.5 && load_int(OX_BOOL, element(truth, 0)) == 1);
    }
}

/* Conversions of transposed matrices go through tiles. */
/* Every number of f16 and bf16 to f32, and the f32 at, beside and between all neighbors of these to them:
 * mixed so that each lane of a vector meets what is unusual among what is usual, and in order. */
static void test_sixteen_bits(void) {
    static const ox_dtype narrow[] = {OX_F16, OX_BF16};
    for (int d = 0; d < 2; d++)
        for (int mixed = 0; mixed < 2; mixed++)
            OX_SCOPE {
                ox_tensor *x = ox_empty(OX_SHAPE(65536), narrow[d]);
                uint16_t *bits = (uint16_t *)ox_data(x);
                for (uint32_t i = 0; i < 65536; i++) bits[i] = (uint16_t)(mixed ? i * 40503 + 7 : i);
                const float *wide = (const float *)ox_data(ox_cast(x, OX_F32));
                int wrong = 0;
                for (int i = 0; i < 65536; i++) {
                    double want = load_real(narrow[d], (const char *)(bits + i));
                    bool same = want != want ? wide[i] != wide[i]
                                             : wide[i] == want && !signbit((double)wide[i]) == !signbit(want);
                    wrong += !same;
                }
                CHECK_MSG(wrong == 0, "%s to f32: %d wrong", ox_dtype_name(narrow[d]), wrong);
                ox_tensor *y = ox_empty(OX_SHAPE(5 * 65536), OX_F32);
                float *to = (float *)ox_data(y);
                for (int64_t i = 0; i < 5 * 65536; i++) {
                    uint16_t at = (uint16_t)(mixed ? i * 40503 + 7 : i / 5), next = (uint16_t)(at + 1);
                    double low = load_real(narrow[d], (const char *)&at);
                    double high = load_real(narrow[d], (const char *)&next), middle = (low + high) / 2;
                    float value = (float)(i % 5 == 0 || high - low != high - low ? low : middle);
                    if (i % 5 == 2) value = nextafterf(value, INFINITY);
                    if (i % 5 == 3) value = nextafterf(value, -INFINITY);
                    to[i] = i % 5 == 4 ? 1 + (float)(i % 977) / 512 : value;
                }
                const char *rounded = (const char *)ox_data(ox_cast(y, narrow[d]));
                wrong = 0;
                for (int64_t i = 0; i < 5 * 65536; i++) {
                    double got = load_real(narrow[d], rounded + 2 * i);
                    double want = round_to_format(format_of(narrow[d]), (double)to[i]);
                    bool same = want != want ? got != got : got == want && !signbit(got) == !signbit(want);
                    wrong += !same;
                }
                CHECK_MSG(wrong == 0, "f32 to %s: %d wrong", ox_dtype_name(narrow[d]), wrong);
            }
}

static void test_transposed_conversions(void) {
    static const ox_dtype pairs[][2] = {{OX_F16, OX_F32}, {OX_F32, OX_BF16}, {OX_U8, OX_F32},
                                        {OX_F64, OX_F32}, {OX_I32, OX_F16},  {OX_F32, OX_C64},
                                        {OX_I16, OX_I8}};
    const int64_t shape[2] = {75, 101};
    for (int p = 0; p < 7; p++)
        OX_SCOPE {
            ox_tensor *x = random_layout(LAYOUT_TRANSPOSED, DOMAIN_MODEST, 2, shape, pairs[p][0]);
            ox_tensor *straight = ox_cast(plain_copy(x), pairs[p][1]), *turned = ox_cast(x, pairs[p][1]);
            CHECK_MSG(same_bits(straight, turned), "%s to %s", ox_dtype_name(pairs[p][0]),
                      ox_dtype_name(pairs[p][1]));
        }
}

/* ---- block types --------------------------------------------------------------------------------------- */

/* q8_0: a f16 scale, 32 int8. [6,96] rows; scale of block b is (b+1)/4. */
static ox_tensor *make_q8_0(void) {
    static unsigned char blocks[18 * 34];
    for (int b = 0; b < 18; b++) {
        store_real(OX_F16, blocks + b * 34, (b + 1) / 4.0);
        for (int i = 0; i < 32; i++) blocks[b * 34 + 2 + i] = (unsigned char)(b * 7 + i * 5);
    }
    return ox_from_data(blocks, OX_SHAPE(6, 96), OX_Q8_0);
}

static double q8_0_at(int64_t row, int64_t column) {
    int b = (int)(row * 3 + column / 32), i = (int)(column % 32);
    return (b + 1) / 4.0 * (int8_t)(unsigned char)(b * 7 + i * 5);
}

static void test_blocks(void) {
    static const ox_dtype floats[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
    OX_SCOPE {
        ox_tensor *x = make_q8_0(), *every_other = ox_slice(x, 0, 1, OX_END, 2),
                  *back = backwards(x, OX_DIMS(0));
        for (int f = 0; f < 4; f++) {
            ox_tensor *y = ox_cast(x, floats[f]), *part = ox_cast(every_other, floats[f]),
                      *turned = ox_cast(back, floats[f]);
            for (int64_t r = 0; r < 6; r++)
                for (int64_t c = 0; c < 96; c++) {
                    double want = round_to_format(format_of(floats[f]), q8_0_at(r, c));
                    CHECK(y && load_real(floats[f], element(y, r * 96 + c)) == want);
                    CHECK(turned && load_real(floats[f], element(turned, (5 - r) * 96 + c)) == want);
                    if (r % 2) CHECK(part && load_real(floats[f], element(part, r / 2 * 96 + c)) == want);
                }
            ox_tensor *columns = ox_t(ox_zeros(OX_SHAPE(96, 6), floats[f]));
            CHECK(ox_copy_(columns, x) && same_bits(ox_contiguous(columns), y));
            CHECK(same_bits(ox_cast(ox_t(x), floats[f]), ox_t(y)));
            ox_tensor *wide = ox_zeros(OX_SHAPE(2, 6, 96), floats[f]);
            CHECK(ox_copy_(wide, x) && same_bits(ox_select(wide, 0, 1), y) &&
                  same_bits(ox_select(wide, 0, 0), y));
        }
        ox_tensor *clone = ox_clone(every_other);
        CHECK(clone && clone->dtype == OX_Q8_0 && ox_is_contiguous(clone));
        for (int r = 0; r < 3 && clone; r++)
            CHECK(memcmp((char *)ox_data(clone) + r * 102, (char *)ox_data(x) + (2 * r + 1) * 102, 102) == 0);
        CHECK(ox_clone(ox_t(x)) == NULL && ox_error() != OX_OK);
        ox_error_clear();
        CHECK(ox_cast(x, OX_I32) == NULL && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
        CHECK(ox_cast(ox_zeros(OX_SHAPE(2, 32), OX_I32), OX_Q8_0) == NULL && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
    }
}

/* ---- large: tasks of several threads ------------------------------------------------------------------- */

static void test_large(void) {
    int threads = ox_threads();
    OX_SCOPE {
        ox_tensor *x = ox_view(ox_arange(0, 411 * 523, 1, OX_I32), OX_SHAPE(411, 523));
        for (int n = 1; n <= 4; n += 3) {
            ox_set_threads(n);
            ox_tensor *turned = ox_contiguous(ox_t(x)), *wide = ox_cast(x, OX_I64),
                      *turned_wide = ox_cast(ox_t(x), OX_F64);
            ox_tensor *copy = ox_clone(x), *step = ox_clone(ox_slice(x, 1, 0, OX_END, 3));
            int wrong = 0;
            for (int64_t r = 0; r < 411; r++)
                for (int64_t c = 0; c < 523; c++) {
                    int64_t value = r * 523 + c, at = c * 411 + r;
                    wrong += ((const int32_t *)ox_data(turned))[at] != value ||
                             ((const int64_t *)ox_data(wide))[value] != value;
                    wrong += ((const double *)ox_data(turned_wide))[at] != (double)value ||
                             ((const int32_t *)ox_data(copy))[value] != value;
                    wrong += c % 3 == 0 && ((const int32_t *)ox_data(step))[r * 175 + c / 3] != value;
                }
            CHECK_MSG(wrong == 0, "%d elements with %d threads", wrong, n);
        }
    }
    ox_set_threads(threads);
}

int main(void) {
    test_layouts();
    test_permutations();
    test_tiles();
    test_large_slices();
    test_widened();
    test_gaps();
    test_broadcast_and_overlap();
    test_conversions();
    test_special_conversions();
    test_sixteen_bits();
    test_transposed_conversions();
    test_blocks();
    test_large();
    CHECK(ox_error() == OX_OK);
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK_MSG(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0, "%lld tensors are left",
              (long long)stats.tensors);
    return check_done("copy");
}
