/* Moving by index: gather, scatter, selections, embedding, one_hot, triangles, cat, roll; bad indices;
 * layouts. OX_TIERS OX_TSAN OX_QEMU
 * OX_VULKAN(gather scatter scatter_add index_select index_add masked_select nonzero embedding)
 * OX_VULKAN(one_hot triu tril cat roll) */
#include "operands.h"

static const layout few_layouts[] = {LAYOUT_PLAIN,  LAYOUT_TRANSPOSED, LAYOUT_STEP_LAST,
                                     LAYOUT_INSIDE, LAYOUT_FLIPPED,    LAYOUT_EXPANDED_FIRST};
enum { FEW_LAYOUTS = 6 };

/* ---- helpers ------------------------------------------------------------------------------------------- */

/* Coordinates of row-major position `at`. */
static void place_of(const ox_tensor *t, int64_t at, int64_t *place) {
    for (int d = t->ndim - 1; d >= 0; d--) {
        place[d] = at % t->shape[d];
        at /= t->shape[d];
    }
}

static int64_t at_place(const ox_tensor *t, const int64_t *place) {
    int64_t at = 0;
    for (int d = 0; d < t->ndim; d++) at = at * t->shape[d] + place[d];
    return at;
}

/* Random indices below `size`, i32 or i64, in a layout. Expanded ones repeat. */
static ox_tensor *random_index(layout l, int ndim, const int64_t *shape, int64_t size, ox_dtype dtype) {
    ox_tensor *base, *t = new_layout(l, ndim, shape, dtype, &base);
    for (int64_t i = 0; i < ox_numel(t); i++)
        store_int(dtype, element(t, i), (int64_t)(test_random() % (uint64_t)size));
    return t;
}

/* "021" -> [0, 2, 1] */
static ox_tensor *ints(const char *digits, ox_dtype dtype) {
    ox_tensor *t = ox_empty(OX_SHAPE((int64_t)strlen(digits)), dtype);
    for (int64_t i = 0; digits[i]; i++) store_int(dtype, element(t, i), digits[i] - '0');
    return t;
}

static int64_t index_at(const ox_tensor *index, int64_t at) {
    return load_int(index->dtype, element(index, at));
}

static void move(ox_tensor *to, int64_t to_at, const ox_tensor *from, int64_t from_at) {
    memcpy(element(to, to_at), element(from, from_at), width_of(to->dtype));
}

/* to += scale * from, in the dtype, as one addition. */
static void add(ox_tensor *to, int64_t to_at, const ox_tensor *from, int64_t from_at, double scale) {
    char *p = element(to, to_at);
    const char *q = element(from, from_at);
    ox_dtype dtype = to->dtype;
    if (dtype == OX_BOOL)
        store_int(dtype, p, load_int(dtype, p) || load_int(dtype, q));
    else if (is_integral(dtype))
        store_int(dtype, p,
                  (int64_t)((uint64_t)load_int(dtype, p) +
                            (uint64_t)(int64_t)scale * (uint64_t)load_int(dtype, q)));
    else if (dtype == OX_F64)
        store_real(dtype, p, load_real(dtype, p) + scale * load_real(dtype, q));
    else
        store_real(dtype == OX_C64 ? OX_F32 : dtype, p,
                   (double)(float)(load_real(dtype, p) + scale * load_real(dtype, q)));
    if (dtype == OX_C64)
        store_real(OX_F32, p + 4,
                   (double)(float)(load_imaginary(dtype, p) + scale * load_imaginary(dtype, q)));
}

/* The same shape and dtype, and numbers within a rounding of each other where additions may be fused. */
static bool nearly(const ox_tensor *a, const ox_tensor *b) {
    if (!a || is_integral(a->dtype)) return same_bits(a, b);
    for (int64_t i = 0; i < ox_numel(a); i++) {
        double x = load_real(a->dtype, element(a, i)), y = load_real(b->dtype, element(b, i));
        double u = load_imaginary(a->dtype, element(a, i)), v = load_imaginary(b->dtype, element(b, i));
        double slack = 16 * spacing(format_of(a->dtype), fabs(y) + 1);
        if (!(fabs(x - y) <= slack || x == y || (isnan(x) && isnan(y))) ||
            !(fabs(u - v) <= 1e-4 * (1 + fabs(v))))
            return false;
    }
    return a->ndim == b->ndim && a->dtype == b->dtype;
}

/* A GPU finds indices while it works: it tells one of the bad ones, not where it stands, and what fits is
 * written. */
static bool found_late;

static bool tells_late(const char *text, const char *words) {
    const char *index = strstr(words, "index ");
    if (!index || strncmp(text, words, (size_t)(index - words)) != 0) return false;
    if (!strstr(text, "is out of range") || !strstr(text, "(found when numbers were read)")) return false;
    found_late = true;
    return true;
}

static void expect(ox_status status, const char *words, const ox_tensor *result) {
    const char *text = ox_error_text();
    bool told = strstr(text, words) || (status == OX_ERR_INDEX && tells_late(text, words));
    CHECK_MSG(!result && ox_error() == status && told, "'%s' instead of '%s'", text, words);
    ox_error_clear();
}

/* ---- gather, scatter ----------------------------------------------------------------------------------- */

static void check_gather_scatter(ox_dtype dtype, int dim, layout l, layout index_layout,
                                 ox_dtype index_dtype) {
    const int64_t x_shape[3] = {5, 6, 7},
                  index_shape[3] = {dim == 0 ? 9 : 4, dim == 1 ? 8 : 6, dim == 2 ? 11 : 5};
    OX_SCOPE {
        ox_tensor *x = random_layout(l, DOMAIN_MODEST, 3, x_shape, dtype);
        ox_tensor *index = random_index(index_layout, 3, index_shape, x_shape[dim], index_dtype);
        ox_tensor *source = random_layout(l, DOMAIN_MODEST, 3, index_shape, dtype);
        ox_tensor *want = ox_empty(ox_shape_of(index), dtype), *scattered = plain_copy(x),
                  *added = plain_copy(x);
        for (int64_t i = 0; i < ox_numel(index); i++) {
            int64_t place[OX_MAX_DIMS];
            place_of(index, i, place);
            place[dim] = index_at(index, i);
            move(want, i, x, at_place(x, place));
            move(scattered, at_place(x, place), source, i);
            add(added, at_place(x, place), source, i, 1);
        }
        const char *name = ox_dtype_name(dtype);
        CHECK_MSG(same_bits(ox_gather(x, dim, index), want), "%s dim %d, %s, index %s", name, dim,
                  layout_name(l), layout_name(index_layout));
        CHECK_MSG(same_bits(ox_scatter(x, dim, index, source), scattered), "%s dim %d, %s", name, dim,
                  layout_name(l));
        CHECK_MSG(nearly(ox_scatter_add(x, dim, index, source), added), "%s dim %d, %s", name, dim,
                  layout_name(l));
        if (l == LAYOUT_EXPANDED_FIRST) continue;
        ox_tensor *place = random_layout(l, DOMAIN_MODEST, 3, x_shape, dtype);
        ox_copy_(place, x);
        CHECK(ox_scatter_(place, dim - 3, index, source) == place && same_bits(place, scattered));
        ox_copy_(place, x);
        CHECK(ox_scatter_add_(place, dim - 3, index, source) == place && nearly(place, added));
    }
}

static void test_gather_scatter(void) {
    for (int d = 1; d <= PLAIN_DTYPES; d++)
        for (int dim = 0; dim < 3; dim++)
            check_gather_scatter((ox_dtype)d, dim, LAYOUT_PLAIN, LAYOUT_PLAIN, d % 2 ? OX_I64 : OX_I32);
    for (int a = 0; a < FEW_LAYOUTS; a++)
        for (int b = 0; b < FEW_LAYOUTS; b++)
            check_gather_scatter(a % 2 ? OX_F32 : OX_I16, (a + b) % 3, few_layouts[a], few_layouts[b],
                                 a < b ? OX_I64 : OX_I32);
    OX_SCOPE { /* edges: nothing to move, one number */
        ox_tensor *x = ox_arange(0, 5, 1, OX_F32), *none = ox_zeros(OX_SHAPE(0), OX_I64),
                  *one = ox_full(OX_SCALAR_SHAPE, 0, OX_I64);
        CHECK(ox_numel(ox_gather(x, 0, none)) == 0 &&
              same_bits(ox_scatter(x, 0, none, ox_zeros(OX_SHAPE(0), OX_F32)), x));
        CHECK(ox_item(ox_gather(ox_full(OX_SCALAR_SHAPE, 3, OX_F32), 0, one)) == 3);
        ox_tensor *m = ox_reshape(ox_arange(0, 6, 1, OX_F32), OX_SHAPE(2, 3));
        ox_tensor *along = ox_take_along_dim(m, ox_view(ints("20", OX_I64), OX_SHAPE(2, 1)), 1);
        CHECK(along && load_real(OX_F32, element(along, 0)) == 2 &&
              load_real(OX_F32, element(along, 1)) == 3);
        ox_tensor *places = ox_view(ints("504", OX_I64), OX_SHAPE(3, 1)), *flat = ox_view(m, OX_SHAPE(6));
        CHECK(same_bits(ox_take_along_dim(ox_t(m), places, OX_FLATTENED),
                        ox_gather(ox_flatten(ox_t(m), 0, -1), 0, ox_view(places, OX_SHAPE(3)))));
        CHECK(same_bits(ox_take_along_dim(m, places, OX_FLATTENED),
                        ox_gather(flat, 0, ox_view(places, OX_SHAPE(3)))));
        CHECK(ox_item(ox_select(ox_take_along_dim(m, places, OX_FLATTENED), 0, 0)) == 5);
    }
}

/* One number combined with another, of a reduction whose numbers are in double. */
static double reduced(ox_reduction reduce, double a, double b) {
    switch (reduce) {
    case OX_REDUCTION_PROD: return a * b;
    case OX_REDUCTION_AMAX: return isnan(a) || isnan(b) ? NAN : fmax(a, b);
    case OX_REDUCTION_AMIN: return isnan(a) || isnan(b) ? NAN : fmin(a, b);
    default: return a + b;
    }
}

/* x [R,C] by rows: index and source [n,C]. What the loop gives, in `sum`. */
static void reduce_rows(double *sum, int64_t rows, int64_t columns, const int64_t *index,
                        const double *source, int64_t n, ox_reduction reduce, bool include_self, bool whole) {
    for (int64_t c = 0; c < columns; c++)
        for (int64_t r = 0; r < rows; r++) {
            double value = sum[r * columns + c], count = include_self;
            for (int64_t i = 0; i < n; i++) {
                if (index[i * columns + c] != r) continue;
                value =
                    count == 0 ? source[i * columns + c] : reduced(reduce, value, source[i * columns + c]);
                count++;
            }
            if (reduce == OX_REDUCTION_MEAN && count > 0)
                value = whole ? floor(value / count) : value / count;
            sum[r * columns + c] = value;
        }
}

static void check_scatter_reduce(ox_dtype dtype, ox_reduction reduce, bool include_self, int way) {
    enum { ROWS = 5, COLUMNS = 7, N = 9 };
    OX_SCOPE {
        ox_tensor *x =
                      ox_cast(ox_randint(dtype == OX_U8 ? 0 : -3, 4, OX_SHAPE(ROWS, COLUMNS), OX_I64), dtype),
                  *source =
                      ox_cast(ox_randint(dtype == OX_U8 ? 0 : -2, 3, OX_SHAPE(N, COLUMNS), OX_I64), dtype),
                  *index =
                      ox_randint(0, ROWS - 1, OX_SHAPE(N, COLUMNS), way % 2 ? OX_I32 : OX_I64); /* not 4 */
        double sum[ROWS * COLUMNS], from[N * COLUMNS];
        int64_t at[N * COLUMNS];
        bool whole = dtype != OX_F16 && dtype != OX_BF16 && dtype != OX_F32 && dtype != OX_F64;
        CHECK(ox_to_doubles(x, sum, ROWS * COLUMNS) == OX_OK &&
              ox_to_doubles(source, from, N * COLUMNS) == OX_OK &&
              ox_to_ints(index, at, N * COLUMNS) == OX_OK);
        reduce_rows(sum, ROWS, COLUMNS, at, from, N, reduce, include_self, whole);
        ox_tensor *wanted = ox_from_doubles(sum, OX_SHAPE(ROWS, COLUMNS), OX_F64), *got = NULL;
        int dim = way == 1 ? 1 : 0;
        if (way == 1) { /* transposed: along the last dim */
            got = ox_t(ox_scatter_reduce(ox_t(x), 1, ox_t(index), ox_t(source), reduce, include_self));
        } else if (way == 2) { /* in place, into every second column of something wider, backwards */
            ox_tensor *wide = ox_full(OX_SHAPE(ROWS, 2 * COLUMNS), 1, dtype);
            got = ox_slice(wide, 1, OX_END, OX_END, -2);
            CHECK(ox_copy_(got, x) && ox_scatter_reduce_(got, 0, index, source, reduce, include_self) == got);
        } else {
            got = ox_scatter_reduce(x, dim, index, source, reduce, include_self);
        }
        CHECK_MSG(got && got->dtype == dtype &&
                      ox_allclose(ox_cast(got, OX_F64), ox_cast(ox_cast(wanted, dtype), OX_F64),
                                  dtype == OX_F16 || dtype == OX_BF16 ? 0.01 : 1e-6, 0, true),
                  "%s, reduction %d, way %d: %s", ox_dtype_name(dtype), (int)reduce, way, ox_error_text());
    }
}

/* Against a loop; the last lines are PyTorch 2.14's. */
static void test_scatter_reduce(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16, OX_I8, OX_U8, OX_I32, OX_I64};
    for (int d = 0; d < 8; d++)
        for (int r = OX_REDUCTION_SUM; r <= OX_REDUCTION_AMIN; r++)
            for (int way = 0; way < 6; way++)
                if (dtypes[d] != OX_U8 || r != OX_REDUCTION_PROD) /* which would wrap */
                    check_scatter_reduce(dtypes[d], (ox_reduction)r, way < 3, way % 3);
    OX_SCOPE {
        ox_tensor *x = ox_from_ints((const int64_t[]){-7, -8}, OX_SHAPE(2), OX_I32),
                  *at = ox_zeros(OX_SHAPE(2), OX_I64);
        ox_tensor *y = ox_from_ints((const int64_t[]){-2, -3}, OX_SHAPE(2), OX_I32),
                  *none = ox_zeros(OX_SHAPE(0), OX_I64);
        ox_tensor *mean = ox_scatter_reduce(x, 0, at, y, OX_REDUCTION_MEAN, false);
        CHECK(ox_equal(mean, ox_from_ints((const int64_t[]){-3, -8}, OX_SHAPE(2), OX_I32)));
        CHECK(ox_equal(ox_scatter_reduce(x, 0, none, ox_cast(none, OX_I32), OX_REDUCTION_AMAX, false), x));
        ox_tensor *half = ox_full(OX_SHAPE(1), 1, OX_F16), *ones = ox_full(OX_SHAPE(3), 1 + 0x1p-10, OX_F16);
        CHECK(ox_item(ox_scatter_reduce(half, 0, ox_zeros(OX_SHAPE(3), OX_I32), ones, OX_REDUCTION_PROD,
                                        true)) == 1 + 3 * 0x1p-10);
        /* torch.tensor([[1., 2, 3], [4, 5, 6]]).index_reduce(1, [0, 0, 2], [[5, 7, 9], [1, 1, 2]], ..) */
        static const struct {
            ox_reduction reduce;
            bool include_self;
            float numbers[6];
        } wanted[] = {
            {OX_REDUCTION_PROD, true, {35, 2, 27, 4, 5, 12}},
            {OX_REDUCTION_PROD, false, {35, 2, 9, 1, 5, 2}},
            {OX_REDUCTION_MEAN, true, {13.0f / 3, 2, 6, 2, 5, 4}},
            {OX_REDUCTION_MEAN, false, {6, 2, 9, 1, 5, 2}},
            {OX_REDUCTION_AMAX, true, {7, 2, 9, 4, 5, 6}},
            {OX_REDUCTION_AMAX, false, {7, 2, 9, 1, 5, 2}},
            {OX_REDUCTION_AMIN, true, {1, 2, 3, 1, 5, 2}},
            {OX_REDUCTION_AMIN, false, {5, 2, 9, 1, 5, 2}},
            {OX_REDUCTION_SUM, true, {13, 2, 12, 6, 5, 8}},
        };
        const float six[6] = {1, 2, 3, 4, 5, 6}, from[6] = {5, 7, 9, 1, 1, 2};
        ox_tensor *image = ox_from_floats(six, OX_SHAPE(2, 3), OX_F32), *list = NULL;
        ox_tensor *added = ox_from_floats(from, OX_SHAPE(2, 3), OX_F32);
        list = ox_from_ints((const int64_t[]){0, 0, 2}, OX_SHAPE(3), OX_I32);
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            ox_tensor *want = ox_from_floats(wanted[i].numbers, OX_SHAPE(2, 3), OX_F32),
                      *copy = ox_clone(ox_t(image));
            ox_tensor *got =
                ox_index_reduce(image, -1, list, added, wanted[i].reduce, wanted[i].include_self);
            CHECK_MSG(got && ox_allclose(got, want, 1e-6, 0, false), "case %d: %s", (int)i, ox_error_text());
            got = ox_index_reduce_(copy, 0, list, ox_t(added), wanted[i].reduce, wanted[i].include_self);
            CHECK(got == copy && ox_allclose(ox_t(got), want, 1e-6, 0, false));
        }
        ox_tensor *three = ox_full(OX_SCALAR_SHAPE, 3, OX_F32), *first = ox_zeros(OX_SHAPE(1), OX_I64);
        CHECK(ox_item(ox_index_reduce(three, 0, first, three, OX_REDUCTION_PROD, true)) == 9);
        expect(OX_ERR_SHAPE, "index_reduce: index",
               ox_index_reduce(image, 1, first, added, OX_REDUCTION_PROD, true));
        ox_tensor *nan = ox_from_floats((const float[]){NAN, 1}, OX_SHAPE(2), OX_F32),
                  *f = ox_zeros(OX_SHAPE(2), OX_F32);
        CHECK(isnan(ox_item(ox_select(ox_scatter_reduce(f, 0, at, nan, OX_REDUCTION_AMAX, true), 0, 0))));
        ox_tensor *c = ox_cast(ox_full(OX_SHAPE(2), 3, OX_F32), OX_C64);
        CHECK(ox_item(ox_select(ox_scatter_reduce(c, 0, at, c, OX_REDUCTION_PROD, true), 0, 0)) == 27);
        ox_tensor *b = ox_zeros(OX_SHAPE(2), OX_BOOL), *t = ox_ones(OX_SHAPE(2), OX_BOOL);
        CHECK(ox_equal(ox_scatter_reduce(b, 0, ox_arange(0, 2, 1, OX_I64), t, OX_REDUCTION_AMAX, true), t));
        expect(OX_ERR_DTYPE, "scatter_reduce: not defined for bool",
               ox_scatter_reduce(b, 0, at, t, OX_REDUCTION_MEAN, true));
        expect(OX_ERR_DTYPE, "scatter", ox_scatter_reduce(c, 0, at, c, OX_REDUCTION_AMAX, true));
        expect(OX_ERR_ARG, "scatter_reduce", ox_scatter_reduce(f, 0, at, f, OX_REDUCTION_NONE, true));
        expect(OX_ERR_INDEX, "scatter",
               ox_scatter_reduce(f, 0, ox_full(OX_SHAPE(2), 5, OX_I64), f, OX_REDUCTION_PROD, true));
    }
}

/* Large enough for several tasks; many equal indices; any number of threads gives the same bits. */
static void test_threads(void) {
    int threads = ox_threads();
    OX_SCOPE {
        ox_tensor *x = ox_zeros(OX_SHAPE(50, 300), OX_F32),
                  *index = ox_randint(0, 50, OX_SHAPE(900, 300), OX_I64);
        ox_tensor *source = ox_randn(OX_SHAPE(900, 300), OX_F32),
                  *rows = ox_randint(0, 50, OX_SHAPE(900), OX_I64);
        ox_set_threads(1);
        ox_tensor *a = ox_scatter_add(x, 0, index, source), *b = ox_scatter(x, 0, index, source),
                  *c = ox_index_add(x, 0, rows, source, 0.5);
        ox_tensor *g = ox_gather(source, 0, index), *s = ox_index_select(x, 0, rows), *n = ox_nonzero(source),
                  *mask = ox_gt(source, ox_number(0));
        ox_tensor *m = ox_masked_select(source, mask);
        ox_set_threads(4);
        CHECK(same_bits(a, ox_scatter_add(x, 0, index, source)) &&
              same_bits(b, ox_scatter(x, 0, index, source)));
        CHECK(same_bits(c, ox_index_add(x, 0, rows, source, 0.5)) &&
              same_bits(g, ox_gather(source, 0, index)));
        CHECK(same_bits(s, ox_index_select(x, 0, rows)) && same_bits(n, ox_nonzero(source)) &&
              same_bits(m, ox_masked_select(source, mask)));
        double most = 0;
        ox_tensor *sums = ox_zeros(OX_SHAPE(50, 300), OX_F64);
        for (int64_t i = 0; i < 900 * 300; i++) {
            double *sum = (double *)ox_data(sums) + ((const int64_t *)ox_data(index))[i] * 300 + i % 300;
            *sum += (double)((const float *)ox_data(source))[i];
        }
        for (int64_t i = 0; i < 50 * 300; i++)
            most = check_worst(
                most, fabs(((const double *)ox_data(sums))[i] - (double)((const float *)ox_data(a))[i]));
        CHECK_MSG(most < 1e-4, "off by %g", most);
    }
    ox_set_threads(threads);
}

/* ---- index_select, index_add, embedding ---------------------------------------------------------------- */

static void check_index_select(ox_dtype dtype, int dim, layout l, layout index_layout, ox_dtype index_dtype) {
    const int64_t x_shape[3] = {5, 6, 7}, count = 9;
    OX_SCOPE {
        ox_tensor *x = random_layout(l, DOMAIN_MODEST, 3, x_shape, dtype);
        ox_tensor *index = random_index(index_layout, 1, &count, x_shape[dim], index_dtype);
        ox_shape shape = ox_shape_of(x);
        shape.dim[dim] = count;
        ox_tensor *want = ox_empty(shape, dtype),
                  *source = random_layout(l, DOMAIN_MODEST, 3, shape.dim, dtype), *added = plain_copy(x);
        for (int64_t i = 0; i < ox_numel(want); i++) {
            int64_t place[OX_MAX_DIMS];
            place_of(want, i, place);
            place[dim] = index_at(index, place[dim]);
            move(want, i, x, at_place(x, place));
            add(added, at_place(x, place), source, i, -2);
        }
        CHECK_MSG(same_bits(ox_index_select(x, dim, index), want), "%s dim %d, %s", ox_dtype_name(dtype), dim,
                  layout_name(l));
        CHECK_MSG(nearly(ox_index_add(x, dim, index, source, -2), added), "%s dim %d, %s",
                  ox_dtype_name(dtype), dim, layout_name(l));
        if (l == LAYOUT_EXPANDED_FIRST) continue;
        ox_tensor *place = random_layout(l, DOMAIN_MODEST, 3, x_shape, dtype);
        ox_copy_(place, x);
        CHECK(ox_index_add_(place, dim, index, source, -2) == place && nearly(place, added));
    }
}

static void test_index_select(void) {
    for (int d = 1; d <= PLAIN_DTYPES; d++)
        for (int dim = 0; dim < 3; dim++)
            check_index_select((ox_dtype)d, dim, LAYOUT_PLAIN, LAYOUT_PLAIN, d % 2 ? OX_I32 : OX_I64);
    for (int a = 0; a < FEW_LAYOUTS; a++)
        for (int b = 0; b < FEW_LAYOUTS; b++)
            check_index_select(b % 2 ? OX_F64 : OX_BF16, (a + b) % 3, few_layouts[a], few_layouts[b], OX_I64);
}

static void test_embedding(void) {
    static unsigned char blocks[18 * 34];
    const int64_t table_shape[2] = {6, 96}, ids_shape[2] = {3, 5};
    for (int b = 0; b < 18; b++) {
        store_real(OX_F16, blocks + b * 34, (b + 1) / 8.0);
        for (int i = 0; i < 32; i++) blocks[b * 34 + 2 + i] = (unsigned char)test_random();
    }
    for (int l = 0; l < FEW_LAYOUTS; l++)
        OX_SCOPE {
            ox_tensor *ids = random_index(few_layouts[l], 2, ids_shape, 6, l % 2 ? OX_I32 : OX_I64);
            ox_tensor *table = random_layout(few_layouts[FEW_LAYOUTS - 1 - l], DOMAIN_ANY, 2, table_shape,
                                             l % 2 ? OX_F32 : OX_F16);
            ox_tensor *rows = ox_embedding(ids, table), *q8 = ox_from_data(blocks, OX_SHAPE(6, 96), OX_Q8_0),
                      *expanded = ox_embedding(ids, q8);
            CHECK(rows && rows->ndim == 3 && rows->shape[2] == 96 && rows->dtype == table->dtype &&
                  expanded && expanded->dtype == OX_F32);
            for (int64_t i = 0; i < 15 * 96; i++) {
                int64_t id = index_at(ids, i / 96), j = i % 96, b = id * 3 + j / 32;
                CHECK(memcmp(element(rows, i), element(table, id * 96 + j), width_of(table->dtype)) == 0);
                CHECK(load_real(OX_F32, element(expanded, i)) ==
                      (double)(b + 1) / 8.0 * (int8_t)blocks[b * 34 + 2 + j % 32]);
            }
            CHECK(ox_numel(ox_embedding(ox_zeros(OX_SHAPE(2, 0), OX_I32), table)) == 0);
            CHECK(ox_embedding(ox_full(OX_SCALAR_SHAPE, 2, OX_I64), table)->ndim == 1);
        }
}

/* ---- masked_select, nonzero, one_hot ------------------------------------------------------------------- */

static void test_selections(void) {
    const int64_t shape[3] = {6, 7, 9};
    for (int d = 1; d <= PLAIN_DTYPES; d++)
        for (int l = 0; l < FEW_LAYOUTS; l++)
            OX_SCOPE {
                ox_dtype dtype = (ox_dtype)d;
                ox_tensor *x = random_layout(few_layouts[l], DOMAIN_MODEST, 3, shape, dtype),
                          *mask = random_layout(few_layouts[(l + 2) % FEW_LAYOUTS], DOMAIN_ANY, 3, shape,
                                                OX_BOOL);
                for (int64_t i = 0; l != 5 && i < ox_numel(x); i += 3)
                    memset(element(x, i), 0, width_of(dtype));
                ox_tensor *chosen = ox_masked_select(x, mask), *places = ox_nonzero(x);
                int64_t count = 0, full = 0;
                CHECK(chosen && chosen->ndim == 1 && places && places->ndim == 2 && places->shape[1] == 3 &&
                      places->dtype == OX_I64);
                for (int64_t i = 0; i < ox_numel(x); i++) {
                    int64_t place[OX_MAX_DIMS];
                    if (load_int(OX_BOOL, element(mask, i)) && count++ < ox_numel(chosen))
                        CHECK(memcmp(element(chosen, count - 1), element(x, i), width_of(dtype)) == 0);
                    bool zero =
                        load_real(dtype, element(x, i)) == 0 && load_imaginary(dtype, element(x, i)) == 0;
                    place_of(x, i, place);
                    if (!zero && full++ < places->shape[0])
                        CHECK(memcmp(element(places, (full - 1) * 3), place, sizeof(int64_t) * 3) == 0);
                }
                CHECK_MSG(count == ox_numel(chosen) && full == places->shape[0], "%s %s",
                          ox_dtype_name(dtype), layout_name(few_layouts[l]));
            }
    OX_SCOPE {
        const float odd[5] = {NAN, -0.0f, 1e-45f, -INFINITY, 0};
        ox_tensor *places = ox_nonzero(ox_from_data(odd, OX_SHAPE(5), OX_F32));
        CHECK(places->shape[0] == 3 && index_at(places, 0) == 0 && index_at(places, 1) == 2 &&
              index_at(places, 2) == 3);
        CHECK(ox_nonzero(ox_number(3))->shape[0] == 1 && ox_nonzero(ox_number(3))->shape[1] == 0);
        CHECK(ox_nonzero(ox_zeros(OX_SHAPE(4, 0), OX_F32))->shape[0] == 0);
        /* mask and operand broadcast to each other */
        ox_tensor *row = ox_arange(0, 4, 1, OX_I32),
                  *column = ox_view(ox_from_data("\1\0\1", OX_SHAPE(3), OX_BOOL), OX_SHAPE(3, 1));
        ox_tensor *chosen = ox_masked_select(row, column);
        CHECK(ox_numel(chosen) == 8 && load_int(OX_I32, element(chosen, 5)) == 1);
        CHECK(ox_numel(ox_masked_select(row, ox_zeros(OX_SHAPE(4), OX_BOOL))) == 0);
        ox_tensor *hot = ox_one_hot(ox_t(ox_view(ints("021220", OX_I32), OX_SHAPE(2, 3))), -1);
        CHECK(hot && hot->ndim == 3 && hot->shape[2] == 3 && hot->dtype == OX_I64);
        const int64_t ids[6] = {0, 2, 2, 2, 1, 0};
        for (int64_t i = 0; i < 18; i++) CHECK(load_int(OX_I64, element(hot, i)) == (i % 3 == ids[i / 3]));
        CHECK(ox_one_hot(ox_zeros(OX_SHAPE(0), OX_I64), 4)->shape[1] == 4);
    }
}

/* ---- triangles, cat, roll ------------------------------------------------------------------------------ */

static void test_triangles(void) {
    static const int64_t diagonals[] = {0, 1, -1, 3, -4, 100, -100, INT64_MAX, INT64_MIN};
    const int64_t shape[3] = {2, 5, 7};
    for (int d = 1; d <= PLAIN_DTYPES; d++)
        for (int l = 0; l < FEW_LAYOUTS; l++)
            OX_SCOPE {
                ox_dtype dtype = (ox_dtype)d;
                ox_tensor *x = random_layout(few_layouts[l], DOMAIN_NOT_ZERO, 3, shape, dtype);
                for (int k = 0; k < 9; k++) {
                    ox_tensor *upper = plain_copy(x), *lower = plain_copy(x);
                    for (int64_t i = 0; i < 70; i++) {
                        double r = (double)(i / 7 % 5), c = (double)(i % 7), edge = (double)diagonals[k];
                        memset(element(c - r >= edge ? lower : upper, i), 0,
                               c - r == edge ? 0 : width_of(dtype));
                    }
                    CHECK_MSG(same_bits(ox_triu(x, diagonals[k]), upper), "%s %s %lld", ox_dtype_name(dtype),
                              layout_name(few_layouts[l]), (long long)diagonals[k]);
                    CHECK_MSG(same_bits(ox_tril(x, diagonals[k]), lower), "%s %s %lld", ox_dtype_name(dtype),
                              layout_name(few_layouts[l]), (long long)diagonals[k]);
                    if (few_layouts[l] == LAYOUT_EXPANDED_FIRST) continue;
                    ox_tensor *place = random_layout(few_layouts[l], DOMAIN_ANY, 3, shape, dtype);
                    ox_copy_(place, x);
                    CHECK(ox_triu_(place, diagonals[k]) == place && same_bits(place, upper));
                    ox_copy_(place, x);
                    CHECK(ox_tril_(place, diagonals[k]) == place && same_bits(place, lower));
                }
            }
    OX_SCOPE {
        CHECK(ox_numel(ox_triu(ox_zeros(OX_SHAPE(3, 0), OX_F32), 0)) == 0 &&
              ox_numel(ox_tril(ox_zeros(OX_SHAPE(0, 3), OX_F32), 0)) == 0);
        CHECK(ox_triu(ox_zeros(OX_SHAPE(3), OX_F32), 0) == NULL);
        ox_error_clear();
    }
}

static void test_cat(void) {
    for (int dim = 0; dim < 3; dim++)
        for (int l = 0; l < FEW_LAYOUTS; l++)
            OX_SCOPE {
                static const ox_dtype dtypes[3][3] = {
                    {OX_F32, OX_F32, OX_F32}, {OX_I32, OX_F16, OX_BOOL}, {OX_U8, OX_I8, OX_I16}};
                static const ox_dtype results[3] = {OX_F32, OX_F16, OX_I16};
                int64_t shape[3] = {3, 4, 5}, sizes[3] = {2, 0, 6}, starts[3] = {0, 2, 2};
                ox_tensor *list[3];
                for (int i = 0; i < 3; i++) {
                    shape[dim] = sizes[i];
                    list[i] = random_layout(few_layouts[(l + i) % FEW_LAYOUTS], DOMAIN_MODEST, 3, shape,
                                            dtypes[l % 3][i]);
                }
                ox_tensor *joined = ox_cat(list, 3, dim - (l % 2 ? 3 : 0));
                CHECK(joined && joined->dtype == results[l % 3] && joined->shape[dim] == 8);
                for (int i = 0; i < 3; i++)
                    CHECK(same_bits(ox_clone(ox_narrow(joined, dim, starts[i], sizes[i])),
                                    ox_cast(plain_copy(list[i]), results[l % 3])));
                ox_tensor *pair[2] = {list[0], list[0]}, *stacked = ox_stack(pair, 2, dim);
                CHECK(stacked && stacked->ndim == 4 &&
                      same_bits(ox_clone(ox_select(stacked, dim, 1)), plain_copy(list[0])));
            }
    OX_SCOPE { /* [0] joins any shape; its dtype counts */
        ox_tensor *x = ox_cast(ox_arange(0, 6, 1, OX_DTYPE_NONE), OX_U8), *list[3] = {NULL, NULL, NULL};
        list[0] = ox_zeros(OX_SHAPE(0), OX_U8);
        list[1] = list[2] = ox_view(x, OX_SHAPE(2, 3));
        CHECK(same_bits(ox_cat(list, 3, 0), ox_cat(list + 1, 2, 0)));
        list[0] = ox_zeros(OX_SHAPE(0), OX_F16);
        CHECK(same_bits(ox_cat(list, 3, -1), ox_cast(ox_cat(list + 1, 2, -1), OX_F16)));
        CHECK(ox_cat(list, 1, 0)->dtype == OX_F16);
    }
}

static void test_roll(void) {
    static const int64_t shifts[] = {0, 1, -1, 3, -8, 100, INT64_MAX, INT64_MIN};
    const int64_t shape[3] = {4, 5, 6};
    for (int l = 0; l < FEW_LAYOUTS; l++)
        for (int k = 0; k < 8; k++)
            OX_SCOPE {
                ox_tensor *x = random_layout(few_layouts[l], DOMAIN_ANY, 3, shape, l % 2 ? OX_F32 : OX_U8),
                          *want = plain_copy(x);
                int64_t by[3] = {shifts[k], shifts[(k + 3) % 8], 2};
                for (int64_t i = 0; i < 120; i++) {
                    int64_t place[3];
                    place_of(x, i, place);
                    for (int d = 0; d < 3; d++)
                        place[d] = ((place[d] + by[d] % shape[d]) % shape[d] + shape[d]) % shape[d];
                    move(want, at_place(want, place), x, i);
                }
                CHECK(same_bits(ox_roll(x, OX_SHAPE(by[2], by[0], by[1]), OX_DIMS(-1, 0, 1)), want));
                ox_tensor *flat = plain_copy(x), *turned = ox_roll(x, OX_SHAPE(by[0]), OX_ALL_DIMS);
                for (int64_t i = 0; i < 120; i++) move(flat, ((i + by[0] % 120) % 120 + 120) % 120, x, i);
                CHECK(same_bits(turned, flat));
                /* the same dim twice adds up */
                CHECK(same_bits(ox_roll(x, OX_SHAPE(1, 3), OX_DIMS(1, 1)),
                                ox_roll(x, OX_SHAPE(4), OX_DIMS(1))));
            }
    OX_SCOPE {
        CHECK(ox_numel(ox_roll(ox_zeros(OX_SHAPE(0, 3), OX_F32), OX_SHAPE(1), OX_DIMS(0))) == 0);
    }
}

/* ---- indices out of range ------------------------------------------------------------------------------ */

static void test_bad_indices(void) {
    OX_SCOPE {
        ox_tensor *x = ox_reshape(ox_arange(0, 15, 1, OX_F32), OX_SHAPE(3, 5)), *before = ox_clone(x);
        ox_tensor *index = ox_zeros(OX_SHAPE(3, 4), OX_I64), *source = ox_ones(OX_SHAPE(3, 4), OX_F32);
        store_int(OX_I64, element(index, 2), 7);
        store_int(OX_I64, element(index, 9), -3);
        expect(OX_ERR_INDEX, "gather: index 7 at [0,2] is out of range for dim 1 of size 5",
               ox_gather(x, 1, index));
        expect(OX_ERR_INDEX, "scatter_: index 7 at [0,2] is out of range for dim 1 of size 5",
               ox_scatter_(x, 1, index, source));
        expect(OX_ERR_INDEX, "scatter_add_: index 7 at [0,2]", ox_scatter_add_(x, 1, index, source));
        CHECK(found_late || same_bits(x, before));
        store_int(OX_I64, element(index, 2), 0);
        expect(OX_ERR_INDEX, "index -3 at [2,1]", ox_gather(x, 1, index));
        expect(OX_ERR_INDEX, "index -3 at [1,2]", ox_gather(ox_t(x), 0, ox_t(index)));
        ox_tensor *list = ints("023", OX_I32);
        expect(OX_ERR_INDEX, "index_select: index 3 at [2] is out of range for dim 0 of size 3",
               ox_index_select(x, 0, list));
        expect(OX_ERR_INDEX, "index_add_: index 3 at [2]",
               ox_index_add_(x, 0, list, ox_ones(OX_SHAPE(3, 5), OX_F32), 1));
        CHECK(found_late || same_bits(x, before));
        expect(OX_ERR_INDEX, "embedding: index 3 at [2]", ox_embedding(list, x));
        expect(OX_ERR_INDEX, "one_hot: index 3 at [2]", ox_one_hot(list, 3));
        store_int(OX_I32, element(list, 1), INT32_MIN);
        expect(OX_ERR_INDEX, "embedding: index -2147483648 at [1]", ox_embedding(list, x));
        expect(OX_ERR_INDEX, "one_hot: index -", ox_one_hot(list, -1));
        /* an empty table has no row; several tasks name the first bad index */
        expect(OX_ERR_INDEX, "size 0",
               ox_embedding(ox_zeros(OX_SHAPE(1), OX_I64), ox_zeros(OX_SHAPE(0, 4), OX_F32)));
        ox_tensor *many = ox_zeros(OX_SHAPE(300000), OX_I64);
        for (int64_t i = 200000; i < 300000; i += 50000) store_int(OX_I64, element(many, i), i);
        expect(OX_ERR_INDEX, "index 200000 at [200000]", ox_index_select(x, 0, many));
    }
}

int main(void) {
    test_gather_scatter();
    test_index_select();
    test_embedding();
    test_selections();
    test_triangles();
    test_cat();
    test_roll();
    test_bad_indices();
    test_threads();
    test_scatter_reduce();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK_MSG(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0, "%lld tensors are left",
              (long long)stats.tensors);
    return check_done("index");
}
