/* test_experts.c - products of mixtures of experts against plain loops in double, and against the linear
 * layer of each expert bit by bit: dtypes, block types, layouts, sizes, views of the weights, repacked ones,
 * errors. OX_TIERS OX_TSAN OX_QEMU OX_VULKAN(linear_experts) */
#include "operands.h"

enum { SIZES = 9 };
/* R, S, E, N, K */
static const int64_t sizes[SIZES][5] = {{1, 2, 8, 12, 34},  {5, 3, 4, 9, 17},  {1, 1, 1, 1, 1},
                                        {13, 2, 3, 33, 32}, {40, 3, 5, 3, 20}, {0, 2, 3, 4, 5},
                                        {3, 2, 4, 0, 5},    {4, 2, 3, 5, 0},   {2, 8, 16, 10, 24}};

/* Its numbers in a row; NULL stays NULL. */
static const double *doubles(ox_tensor *t) {
    if (t && t->dtype > PLAIN_DTYPES) t = ox_cast(t, OX_F32);
    return t ? (const double *)ox_data(ox_contiguous(ox_cast(t, OX_F64))) : NULL;
}

static ox_tensor *random_ids(layout l, ox_dtype dtype, int64_t rows, int64_t slots, int64_t experts) {
    const int64_t shape[2] = {rows, slots};
    ox_tensor *ids = random_layout(l, DOMAIN_UNIT, 2, shape, dtype);
    for (int64_t i = 0; ids && i < ox_numel(ids); i++)
        store_int(dtype, element(ids, i), (int64_t)(test_random() >> 33) % experts);
    return ids;
}

static int64_t id_at(const ox_tensor *ids, int64_t i) {
    return ids->dtype == OX_I64 ? *(const int64_t *)(const void *)element(ids, i)
                                : *(const int32_t *)(const void *)element(ids, i);
}

/* Each number of y against its sum in double. rounds: x may be quantized to 8 bits, or to bf16. */
static void check_sums(ox_tensor *x, ox_tensor *w, ox_tensor *ids, ox_tensor *bias, bool rounds,
                       const ox_tensor *y, const char *how) {
    const double *of_x = doubles(x), *of_w = doubles(w), *of_bias = doubles(bias);
    int64_t slots = ids->shape[1], n = w->shape[1], k = w->shape[2];
    double worst = 0, step = y->dtype == OX_F64 ? 1e-14 : 2e-6;
    double last = y->dtype == OX_F64 ? 1e-15 : y->dtype == OX_F32 ? 1e-6 : y->dtype == OX_F16 ? 1e-3 : 1e-2;
    for (int64_t i = 0; of_x && of_w && i < ox_numel(y); i++) {
        int64_t slot = i / n, id = id_at(ids, slot), row = x->ndim == 2 ? slot / slots : slot;
        double sum = of_bias ? of_bias[id * n + i % n] : 0, around = fabs(sum), most = 0, weights = 0;
        for (int64_t j = 0; j < k; j++) {
            double a = of_x[row * k + j], b = of_w[(id * n + i % n) * k + j];
            sum += a * b;
            around += fabs(a * b);
            weights += fabs(b);
            if (fabs(a) > most) most = fabs(a);
        }
        double may = 1e-30 + step * around + last * fabs(sum) + (rounds ? weights * most / 100 : 0);
        double off = fabs(load_real(y->dtype, element(y, i)) - sum) / may;
        worst = check_worst(worst, off);
    }
    CHECK_MSG(of_x && of_w && worst <= 1, "%s of %s x %s: off by %g times what is allowed", how,
              ox_dtype_name(x->dtype), ox_dtype_name(w->dtype), worst);
}

/* The rows of each expert by ox_linear, which the CPU gives the same bits. */
static void check_layers(ox_tensor *x, ox_tensor *w, ox_tensor *ids, ox_tensor *bias, ox_tensor *y,
                         const char *how) {
    int64_t slots = ids->shape[1], n = w->shape[1], all = ids->shape[0] * slots;
    bool same = true;
    for (int64_t id = 0; same && id < w->shape[0]; id++)
        OX_SCOPE {
            ox_tensor *of_x = ox_empty(OX_SHAPE(all), OX_I64), *of_y = ox_empty(OX_SHAPE(all), OX_I64);
            int64_t count = 0, *a = (int64_t *)ox_data(of_x), *b = (int64_t *)ox_data(of_y);
            for (int64_t i = 0; i < all; i++) {
                if (id_at(ids, i) != id) continue;
                a[count] = x->ndim == 2 ? i / slots : i;
                b[count++] = i;
            }
            if (!count) continue;
            ox_tensor *flat = x->ndim == 2 ? x : ox_flatten(x, 0, 1);
            ox_tensor *rows = ox_index_select(flat, 0, ox_narrow(of_x, 0, 0, count));
            ox_tensor *want = ox_linear(rows, ox_select(w, 0, id), bias ? ox_select(bias, 0, id) : NULL);
            ox_tensor *got =
                ox_index_select(ox_reshape(y, OX_SHAPE(all, n)), 0, ox_narrow(of_y, 0, 0, count));
            same = want && got && same_bits(got, want);
        }
    CHECK_MSG(same, "%s of %s x %s: other bits than ox_linear's (%s)", how, ox_dtype_name(x->dtype),
              ox_dtype_name(w->dtype), ox_error_text());
}

static ox_tensor *check(ox_tensor *x, ox_tensor *w, ox_tensor *ids, ox_tensor *bias, bool exact,
                        const char *how) {
    ox_set_exact(exact);
    ox_tensor *y = ox_linear_experts(x, w, ids, bias);
    bool fits = y && y->ndim == 3 && y->shape[0] == ids->shape[0] && y->shape[1] == ids->shape[1] &&
                y->shape[2] == w->shape[1] && y->dtype == x->dtype;
    CHECK_MSG(fits, "%s of %s x %s: %s", how, ox_dtype_name(x->dtype), ox_dtype_name(w->dtype),
              ox_error_text());
    if (fits) check_sums(x, w, ids, bias, !exact && ((w->dtype > PLAIN_DTYPES) || is_mirror()), y, how);
    if (fits && !is_mirror()) check_layers(x, w, ids, bias, y, how);
    ox_set_exact(false);
    ox_error_clear();
    return fits ? y : NULL;
}

/* ---- plain dtypes ------------------------------------------------------------------------------------- */

static void test_sizes(void) {
    static const ox_dtype dtypes[][2] = {{OX_F32, OX_F32},  {OX_F32, OX_F16},   {OX_F16, OX_F16},
                                         {OX_F32, OX_BF16}, {OX_BF16, OX_BF16}, {OX_F64, OX_F64},
                                         {OX_F16, OX_F32}};
    for (int d = 0; d < 7; d++)
        for (int s = 0; s < SIZES; s++)
            for (int l = 0; l < LAYOUT_COUNT; l++) {
                if (is_short_mirror() && (s + l + d) % 5) continue;
                OX_SCOPE {
                    const int64_t *z = sizes[s], of_w[3] = {z[2], z[3], z[4]}, of_bias[2] = {z[2], z[3]};
                    const int64_t of_x[3] = {z[0], z[4]}, of_each[3] = {z[0], z[1], z[4]};
                    bool each = (l + s) % 2;
                    layout other = (layout)((l + 3) % LAYOUT_COUNT);
                    ox_tensor *x = random_layout((layout)l, DOMAIN_UNIT, each ? 3 : 2, each ? of_each : of_x,
                                                 dtypes[d][0]);
                    ox_tensor *w = random_layout(other, DOMAIN_UNIT, 3, of_w, dtypes[d][1]);
                    ox_tensor *b = random_layout((layout)l, DOMAIN_UNIT, 2, of_bias, dtypes[d][l % 2]);
                    ox_tensor *ids = random_ids((layout)((l + 1) % LAYOUT_COUNT), l % 2 ? OX_I64 : OX_I32,
                                                z[0], z[1], z[2]);
                    (void)check(x, w, ids, l % 3 ? b : NULL, l % 2, layout_name((layout)l));
                }
            }
}

/* One expert has every row; all but one have none; many rows, which take the packed ways. */
static void test_many_rows(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_BF16};
    for (int d = 0; d < 3; d++)
        OX_SCOPE {
            ox_tensor *x = ox_randn(OX_SHAPE(70, 96), OX_F32),
                      *w = ox_cast(ox_randn(OX_SHAPE(6, 80, 96), OX_F32), dtypes[d]);
            ox_tensor *one = ox_full(OX_SHAPE(70, 2), 4, OX_I32),
                      *ids = random_ids(LAYOUT_PLAIN, OX_I32, 70, 2, 6);
            ox_tensor *bias = ox_randn(OX_SHAPE(6, 80), OX_F32);
            (void)check(x, w, one, bias, false, "one expert");
            (void)check(x, w, ids, NULL, false, "many rows");
            (void)check(x, w, ox_narrow(ids, 1, 1, 1), bias, false, "one slot");
            (void)check(ox_expand(ox_narrow(x, 0, 0, 1), OX_SHAPE(70, 96)), w, ids, bias, true, "rows alike");
            (void)check(x, ox_transpose(ox_contiguous(ox_transpose(w, 1, 2)), 1, 2), ids, bias, false,
                        "transposed weights");
        }
    if (is_mirror()) return;
    OX_SCOPE { /* large enough for products that have all threads, next to small ones */
        ox_tensor *x = ox_randn(OX_SHAPE(65, 512), OX_F32), *w = ox_randn(OX_SHAPE(3, 1030, 512), OX_F32);
        ox_tensor *ids = random_ids(LAYOUT_PLAIN, OX_I64, 65, 2, 2);
        store_int(OX_I64, element(ids, 7), 2);
        (void)check(x, w, ids, NULL, true, "large");
        (void)check(x, ox_cast(w, OX_F16), ids, NULL, true, "large");
        CHECK(ox_prepack(w) == OX_OK);
        ox_tensor *first = check(x, w, ids, NULL, true, "large, prepacked"),
                  *then = check(x, w, ids, NULL, true, "again");
        CHECK(first && then && same_bits(first, then));
    }
}

/* ---- block types --------------------------------------------------------------------------------------- */

/* Small bytes keep every scale small and finite. */
static ox_tensor *random_blocks(ox_dtype dtype, int64_t experts, int64_t n, int64_t k) {
    ox_tensor *t = ox_empty(OX_SHAPE(experts, n, k), dtype);
    unsigned char *bytes = t ? (unsigned char *)ox_data(t) : NULL;
    for (size_t i = 0; bytes && i < ox_nbytes(t); i++) bytes[i] = (unsigned char)(test_random() >> 40 & 0x2f);
    return t;
}

static void check_blocks(ox_dtype dtype) {
    ox_tensor *w = random_blocks(dtype, 5, 48, 512), *x = ox_randn(OX_SHAPE(30, 512), OX_F32);
    ox_tensor *ids = random_ids(LAYOUT_TRANSPOSED, OX_I32, 30, 2, 5),
              *bias = ox_randn(OX_SHAPE(5, 48), OX_F32);
    for (int exact = 0; exact < 2; exact++) {
        (void)check(ox_narrow(x, 0, 3, 1), w, ox_narrow(ids, 0, 0, 1), NULL, exact, "a row");
        (void)check(ox_narrow(x, 0, 0, 7), w, ox_narrow(ids, 0, 5, 7), bias, exact, "few rows");
        if (is_short_mirror()) continue;
        (void)check(x, w, ids, bias, exact, "rows");
        (void)check(ox_cast(x, OX_BF16), ox_narrow(w, 0, 1, 3), ox_remainder(ids, ox_integer(3)), NULL, exact,
                    "a part");
        (void)check(x, ox_slice(w, 0, OX_END, OX_END, -2), ox_remainder(ids, ox_integer(3)), NULL, exact,
                    "every second");
        (void)check(x, ox_narrow(w, 1, 3, 17), ids, NULL, exact, "some columns");
    }
}

/* Repacked as a whole, or as the matrix that it is a view of. */
static void check_repacked(ox_dtype dtype) {
    ox_tensor *w = ox_cast(ox_randn(OX_SHAPE(4, 32, 256), OX_F32), dtype), *twin = ox_clone(w);
    ox_tensor *flat = ox_clone(ox_view(w, OX_SHAPE(128, 256))), *x = ox_randn(OX_SHAPE(21, 256), OX_F32);
    ox_tensor *ids = random_ids(LAYOUT_PLAIN, OX_I32, 21, 2, 4);
    CHECK(ox_prepack(w) == OX_OK && ox_prepack(flat) == OX_OK);
    for (int rows = 1; rows <= 21; rows += 5) {
        ox_tensor *some = ox_narrow(x, 0, 0, rows), *which = ox_narrow(ids, 0, 0, rows);
        ox_tensor *a = ox_linear_experts(some, w, which, NULL),
                  *b = ox_linear_experts(some, ox_view(flat, OX_SHAPE(4, 32, 256)), which, NULL);
        CHECK_MSG(a && b && same_bits(a, b), "%s, %d rows: %s", ox_dtype_name(dtype), rows, ox_error_text());
        if (a) check_sums(some, twin, which, NULL, true, a, "repacked");
        if (a && !is_mirror()) check_layers(some, w, which, NULL, a, "repacked");
        ox_tensor *part =
            ox_linear_experts(some, ox_narrow(w, 1, 0, 16), which, NULL); /* they are put back */
        if (part)
            check_sums(some, ox_narrow(twin, 1, 0, 16), which, NULL, true, part, "repacked, some columns");
        CHECK(part && ox_prepack(w) == OX_OK);
    }
    CHECK(ox_equal(w, twin));
}

/* So many slots, each of which has a row of x of its own, that tasks make these ready: two experts that have
 * a row each, wherever they lie, are one task. */
static void check_own_rows(ox_dtype dtype) {
    ox_tensor *w = ox_cast(ox_randn(OX_SHAPE(23, 48, 512), OX_F32), dtype), *twin = ox_clone(w),
              *x = ox_randn(OX_SHAPE(3, 21, 512), OX_F32), *bias = ox_randn(OX_SHAPE(23, 48), OX_F32);
    for (int packed = 0; packed < 2; packed++)
        for (int rows = 1; rows < 4; rows++)
            for (int slots = 16; slots <= 21; slots++) {
                ox_tensor *some = ox_narrow(ox_narrow(x, 0, 0, rows), 1, 0, slots),
                          *ids = random_ids(LAYOUT_TRANSPOSED, OX_I32, rows, slots, 23),
                          *b = slots % 3 ? NULL : bias;
                CHECK(!packed || ox_prepack(w) == OX_OK);
                ox_tensor *y = ox_linear_experts(some, w, ids, b);
                CHECK_MSG(y != NULL, "%s", ox_error_text());
                if (y) check_sums(some, twin, ids, b, true, y, "own rows");
                if (y && !is_mirror()) check_layers(some, w, ids, b, y, "own rows");
            }
}

/* One row of x for all slots, some of which have the same expert. */
static void check_one_row(ox_dtype dtype) {
    static const int64_t id[] = {0, 1, 1, 2, 5, 2, 3, 2};
    ox_tensor *w = ox_cast(ox_randn(OX_SHAPE(6, 48, 512), OX_F32), dtype), *twin = ox_clone(w),
              *x = ox_randn(OX_SHAPE(1, 512), OX_F32);
    for (int packed = 0; packed < 2; packed++)
        for (int slots = 3; slots <= 8; slots++) {
            ox_tensor *ids = ox_from_ints(id, OX_SHAPE(1, slots), OX_I64);
            CHECK(!packed || ox_prepack(w) == OX_OK);
            ox_tensor *y = ox_linear_experts(x, w, ids, NULL);
            CHECK_MSG(y != NULL, "%s", ox_error_text());
            if (y) check_sums(x, twin, ids, NULL, true, y, "one row");
        }
}

static void test_blocks(void) {
    static const ox_dtype packs[] = {OX_Q4_0, OX_Q8_0, OX_Q4_K, OX_Q6_K};
    for (int d = OX_Q4_0; d < OX_DTYPE_COUNT; d++)
        OX_SCOPE {
            ox_tensor *one = random_blocks((ox_dtype)d, 1, 1, 512);
            bool known = one && ox_cast(one, OX_F32); /* with OX_NO_IQ some types are refused */
            ox_error_clear();
            if (known) check_blocks((ox_dtype)d);
        }
    for (int d = 0; d < 4; d++)
        OX_SCOPE {
            check_repacked(packs[d]);
            check_own_rows(packs[d]);
            check_one_row(packs[d]);
        }
}

/* ---- threads, errors ----------------------------------------------------------------------------------- */

static void test_threads(void) {
    if (is_mirror()) return;
    OX_SCOPE {
        int threads = ox_threads();
        ox_tensor *w[3], *y[3][3], *x = ox_randn(OX_SHAPE(17, 256), OX_F32);
        ox_tensor *ids = random_ids(LAYOUT_PLAIN, OX_I32, 17, 3, 7);
        w[0] = ox_randn(OX_SHAPE(7, 300, 256), OX_F32);
        w[1] = ox_cast(w[0], OX_F16);
        w[2] = ox_cast(w[0], OX_Q4_0);
        for (int t = 0; t < 3; t++) {
            ox_set_threads(t + 1);
            for (int i = 0; i < 3; i++) y[t][i] = ox_linear_experts(x, w[i], ids, NULL);
        }
        ox_set_threads(threads);
        for (int i = 0; i < 3; i++)
            CHECK(y[0][i] && y[1][i] && y[2][i] && same_bits(y[0][i], y[1][i]) &&
                  same_bits(y[0][i], y[2][i]));
    }
}

static void refused(ox_tensor *y, ox_status status, const char *words) {
    CHECK_MSG(!y && ox_error() == status && strstr(ox_error_text(), words), "not \"%s\": %s", words,
              ox_error_text());
    ox_error_clear();
}

static void test_errors(void) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(2, 32), OX_F32), *w = ox_ones(OX_SHAPE(3, 4, 32), OX_F32);
        ox_tensor *ids = ox_zeros(OX_SHAPE(2, 2), OX_I32), *bad = ox_zeros(OX_SHAPE(2, 2), OX_I64);
        ox_tensor *each = ox_ones(OX_SHAPE(2, 2, 32), OX_F32), *none = ox_ones(OX_SHAPE(3, 0, 32), OX_F32);
        if (!is_mirror()) {
            store_int(OX_I64, element(bad, 3), 3);
            refused(ox_linear_experts(x, w, bad, NULL), OX_ERR_INDEX,
                    "linear_experts: index 3 at [1,1] is out of range");
            refused(ox_linear_experts(x, none, bad, NULL), OX_ERR_INDEX, "index 3 at [1,1]");
            store_int(OX_I64, element(bad, 3), -1);
            refused(ox_linear_experts(each, w, bad, NULL), OX_ERR_INDEX, "index -1 at [1,1]");
            refused(ox_linear_experts(x, ox_ones(OX_SHAPE(0, 4, 32), OX_F32), ids, NULL), OX_ERR_INDEX,
                    "index 0 at [0,0]");
        }
        refused(ox_linear_experts(x, w, ox_zeros(OX_SHAPE(2, 2), OX_F32), NULL), OX_ERR_DTYPE,
                "indices are f32[2,2]");
        refused(ox_linear_experts(x, w, ox_zeros(OX_SHAPE(3, 2), OX_I32), NULL), OX_ERR_SHAPE,
                "experts i32[3,2], bias none do not fit");
        refused(ox_linear_experts(x, w, ox_zeros(OX_SHAPE(2), OX_I32), NULL), OX_ERR_SHAPE,
                "experts i32[2],");
        refused(ox_linear_experts(x, ox_select(w, 0, 0), ids, NULL), OX_ERR_SHAPE, "weight f32[4,32]");
        refused(ox_linear_experts(ox_ones(OX_SHAPE(2, 31), OX_F32), w, ids, NULL), OX_ERR_SHAPE,
                "x f32[2,31]");
        refused(ox_linear_experts(ox_ones(OX_SHAPE(2, 3, 32), OX_F32), w, ids, NULL), OX_ERR_SHAPE,
                "x f32[2,3,32]");
        refused(ox_linear_experts(ox_ones(OX_SHAPE(32), OX_F32), w, ids, NULL), OX_ERR_SHAPE, "x f32[32]");
        refused(ox_linear_experts(ox_select(ox_select(x, 0, 0), 0, 0), w, ids, NULL), OX_ERR_SHAPE,
                "x f32[]");
        refused(ox_linear_experts(x, w, ids, ox_ones(OX_SHAPE(3, 5), OX_F32)), OX_ERR_SHAPE, "bias f32[3,5]");
        refused(ox_linear_experts(x, w, ids, ox_ones(OX_SHAPE(4), OX_F32)), OX_ERR_SHAPE, "bias f32[4]");
        refused(ox_linear_experts(x, w, ids, ox_ones(OX_SHAPE(3, 4), OX_I32)), OX_ERR_SHAPE, "bias i32[3,4]");
        refused(ox_linear_experts(x, ox_cast(w, OX_F64), ids, NULL), OX_ERR_DTYPE, "different dtypes");
        refused(ox_linear_experts(ox_cast(x, OX_I32), w, ids, NULL), OX_ERR_DTYPE, "not defined for i32");
        refused(ox_linear_experts(ox_cast(x, OX_Q4_0), w, ids, NULL), OX_ERR_SHAPE, "x q4_0[2,32]");
        refused(ox_linear_experts(
                    x, ox_transpose(ox_cast(ox_ones(OX_SHAPE(3, 32, 32), OX_F32), OX_Q4_0), 1, 2), ids, NULL),
                OX_ERR_DTYPE, "do not run along");
        refused(ox_linear_experts(x, NULL, ids, NULL), OX_ERR_ARG, "linear_experts");
    }
}

int main(void) {
    test_sizes();
    test_many_rows();
    test_blocks();
    test_threads();
    test_errors();
    CHECK_MSG(ox_memory_get_stats().tensors == 0, "%lld tensors left",
              (long long)ox_memory_get_stats().tensors);
    return check_done("experts");
}
