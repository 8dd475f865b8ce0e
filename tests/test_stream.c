/* test_stream.c - operations on tensors that stay in files give the bits that they give in RAM: every family,
 * sizes around the tile and far beyond the budget, on a disk and in memory, through io_uring and threads,
 * with results in RAM and in the spill file. OX_TSAN */
#include "backwards.h"
#include "stream_works.h"

/* ---- every family, sizes around pages and tiles and far beyond the budget ------------------------------ */

/* From the third case on, half of the works at half of the sizes, the other half in the next case. */
static void test_sizes(const stream_case *small, int number) {
    const stream_case sized = case_sized(small, WORK_BUDGET, TILE), *c = &sized;
    for (int i = 0; i < WORK_SIZES; i++)
        OX_SCOPE {
            ox_shape shape = OX_SHAPE(work_sizes[i]);
            ox_tensor *two[2] = {numbers(shape, OX_F32, 1), numbers(shape, OX_F32, 2)};
            for (int w = number < 2 ? 0 : (i + number) % 2; w < WORKS; w += number < 2 ? 1 : 2)
                compare(c, works[w].name, works[w].run, two, works[w].operands);
        }
}

/* ---- strided and broadcast ---------------------------------------------------------------------------- */

static ox_tensor *run_outer(ox_tensor *const *in) {
    return ox_add(in[0], in[1]);
}
static ox_tensor *run_turned(ox_tensor *const *in) {
    return ox_add(ox_t(in[0]), ox_exp(ox_t(in[0])));
}
static ox_tensor *run_turned_copy(ox_tensor *const *in) {
    return ox_contiguous(ox_t(in[0]));
}
static ox_tensor *run_columns(ox_tensor *const *in) {
    return ox_relu(ox_narrow(in[0], 1, 3, 40));
}
static ox_tensor *run_middle(ox_tensor *const *in) {
    return ox_relu(ox_narrow(in[0], 1, 7, in[0]->shape[1] - 9));
}
static ox_tensor *run_permuted(ox_tensor *const *in) {
    return ox_neg(ox_permute(in[0], OX_DIMS(2, 0, 1)));
}

static void test_strided(const stream_case *c) {
    OX_SCOPE {
        ox_tensor *a[2] = {numbers(OX_SHAPE(300, 701), OX_F32, 3), numbers(OX_SHAPE(701), OX_F32, 4)};
        compare(c, "broadcast row", run_outer, a, 2);
        a[1] = numbers(OX_SHAPE(300, 1), OX_F32, 5);
        compare(c, "broadcast column", run_outer, a, 2);
        compare(c, "transposed", run_turned, a, 1);
        compare(c, "transposed copy", run_turned_copy, a, 1);
        compare(c, "few columns", run_columns, a, 1);
        compare(c, "most columns", run_middle, a, 1);
        ox_tensor *b[1] = {numbers(OX_SHAPE(12, 90, 130), OX_F32, 6)};
        compare(c, "permuted", run_permuted, b, 1);
        ox_tensor *d[1] = {numbers(OX_SHAPE(64, 5000), OX_F16, 7)};
        compare(c, "transposed f16", run_turned_copy, d, 1);
        compare(c, "few columns f16", run_columns, d, 1);
    }
}

/* ---- products ----------------------------------------------------------------------------------------- */

static ox_tensor *run_linear(ox_tensor *const *in) {
    return ox_linear(in[0], in[1], in[2]);
}
static ox_tensor *run_matmul(ox_tensor *const *in) {
    return ox_matmul(in[0], in[1]);
}
static ox_tensor *run_matmul_t(ox_tensor *const *in) {
    return ox_matmul(in[0], ox_t(in[1]));
}
static ox_tensor *run_addmm(ox_tensor *const *in) {
    return ox_addmm(in[0], in[1], in[2], 0.5, 2);
}

static void test_linear(const stream_case *c, ox_dtype weight, int64_t m, int64_t n, int64_t k) {
    OX_SCOPE {
        ox_tensor *in[3] = {numbers(OX_SHAPE(m, k), OX_F32, 1), numbers(OX_SHAPE(n, k), weight, 2),
                            numbers(OX_SHAPE(n), OX_F32, 3)};
        compare_masks(c, "linear", run_linear, in, 3);
    }
}

static ox_tensor *run_experts(ox_tensor *const *in) { return ox_linear_experts(in[0], in[1], in[2], in[3]); }

/* Experts that nobody uses are not read, but for what is read ahead. */
static void test_experts(const stream_case *c) {
    static const ox_dtype weights[] = {OX_F32, OX_F16, OX_Q4_K};
    for (int i = 0; i < 3; i++)
        OX_SCOPE {
            ox_tensor *in[4] = {numbers(OX_SHAPE(13, 256), OX_F32, 1),
                                numbers(OX_SHAPE(9, 128, 256), weights[i], 2),
                                ox_randint(0, 9, OX_SHAPE(13, 2), i ? OX_I32 : OX_I64),
                                numbers(OX_SHAPE(9, 128), OX_F32, 3)};
            compare_masks(c, "linear_experts", run_experts, in, 4);
            ox_stream *stream = case_open(c);
            ox_tensor *w = ox_to(in[1], ox_stream_device(stream)), *two = ox_full(OX_SHAPE(13, 2), 4, OX_I64);
            int64_t before = ox_stream_get_stats(stream).disk_bytes;
            CHECK(ox_linear_experts(in[0], w, two, NULL));
            int64_t read = ox_stream_get_stats(stream).disk_bytes - before;
            CHECK_MSG(read < (int64_t)ox_nbytes(in[1]) * 2 / 3, "%lld bytes were read", (long long)read);
            two = ox_add(two, ox_integer(5));
            CHECK(!ox_linear_experts(in[0], w, two, NULL) && ox_error() == OX_ERR_INDEX);
            ox_error_clear();
            ox_device_close(ox_stream_device(stream));
        }
}

static void test_products(const stream_case *c) {
    static const ox_dtype weights[] = {OX_F32, OX_F16, OX_BF16, OX_Q4_0, OX_Q8_0, OX_Q4_K, OX_Q6_K};
    static const int64_t rows[] = {1, 3, 4, 5, 8, 9, 33};
    for (size_t w = 0; w < sizeof weights / sizeof *weights; w++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) test_linear(c, weights[w], rows[i], 333, 512);
    for (int64_t m = 9; m < 100; m += 30)
        OX_SCOPE { /* of f16 alone, by tiles where the whole is not small */
            ox_tensor *in[2] = {numbers(OX_SHAPE(m, 512), OX_F16, 1), numbers(OX_SHAPE(333, 512), OX_F16, 2)};
            compare_masks(c, "matmul of f16", run_matmul_t, in, 2);
        }
    test_linear(c, OX_F32, 200, 700, 256);
    test_linear(c, OX_F32, 2, 3, 4097);
    test_linear(c, OX_F16, 1, 1, 1);
    test_linear(c, OX_Q8_0, 3, 5, 32 * 301); /* a row is longer than a tile */
    test_linear(c, OX_Q4_K, 2, 7, 256 * 60);
    test_linear(c, OX_Q5_1, 2, 77, 32 * 3);
    OX_SCOPE {
        ox_tensor *a[2] = {numbers(OX_SHAPE(150, 257), OX_F32, 1), numbers(OX_SHAPE(257, 190), OX_F32, 2)};
        compare_masks(c, "matmul", run_matmul, a, 2);
        ox_tensor *b[2] = {numbers(OX_SHAPE(7, 257), OX_F32, 1), numbers(OX_SHAPE(190, 257), OX_F32, 2)};
        compare_masks(c, "matmul, b transposed", run_matmul_t, b, 2);
        ox_tensor *d[2] = {numbers(OX_SHAPE(6, 40, 65), OX_F32, 1), numbers(OX_SHAPE(6, 65, 50), OX_F32, 2)};
        compare_masks(c, "matmul of batches", run_matmul, d, 2);
        ox_tensor *e[2] = {numbers(OX_SHAPE(6, 40, 65), OX_F32, 1), numbers(OX_SHAPE(65, 150), OX_F32, 2)};
        compare_masks(c, "matmul, b broadcast", run_matmul, e, 2);
        ox_tensor *f[2] = {numbers(OX_SHAPE(400, 65), OX_F32, 1), numbers(OX_SHAPE(65), OX_F32, 2)};
        compare_masks(c, "matrix times vector", run_matmul, f, 2);
        ox_tensor *g[2] = {numbers(OX_SHAPE(120), OX_F64, 1), numbers(OX_SHAPE(120, 300), OX_F64, 2)};
        compare_masks(c, "vector times matrix", run_matmul, g, 2);
        ox_tensor *h[3] = {numbers(OX_SHAPE(90), OX_F32, 1), numbers(OX_SHAPE(100, 70), OX_F32, 2),
                           numbers(OX_SHAPE(70, 90), OX_F32, 3)};
        compare_masks(c, "addmm", run_addmm, h, 3);
    }
}

static ox_tensor *run_linear_of_views(ox_tensor *const *in) {
    ox_tensor *turned = ox_t(backwards(in[0], OX_DIMS(1))), *parts[2];
    parts[0] = ox_linear(turned, in[1], NULL);
    parts[1] = ox_linear(ox_slice(turned, 0, 0, ox_size(turned, 0), 3), backwards(in[1], OX_DIMS(0)), NULL);
    return ox_cat(parts, 2, 0);
}

/* Parts of many columns: what the product makes of x is used by all of them, also where x is a view. */
static void test_wide_parts(const stream_case *small) {
    static const ox_dtype weights[] = {OX_F32, OX_F16, OX_BF16, OX_Q4_0, OX_Q6_K, OX_F64};
    const stream_case c = case_sized(small, 8 << 20, 256 << 10);
    for (size_t w = 0; w < sizeof weights / sizeof *weights; w++)
        for (int64_t m = 9; m < 400; m *= 6)
            OX_SCOPE {
                ox_dtype dtype = weights[w];
                ox_dtype x = dtype == OX_Q4_0 || dtype == OX_Q6_K ? OX_F32 : dtype;
                ox_tensor *in[2] = {numbers(OX_SHAPE(m, 512), x, 1), numbers(OX_SHAPE(3001, 512), dtype, 2)};
                ox_tensor *turned[2] = {numbers(OX_SHAPE(512, m), x, 3), in[1]};
                compare_mask(&c, "matmul of wide parts", run_matmul_t, in, 2, 2);
                compare_mask(&c, "linear of views", run_linear_of_views, turned, 2, 2);
            }
}

/* ---- reductions and rows ------------------------------------------------------------------------------ */

#define REDUCE(name, call)                               \
    static ox_tensor *run_##name(ox_tensor *const *in) { \
        return call;                                     \
    }
REDUCE(sum_all, ox_sum(in[0], OX_ALL_DIMS, false))
REDUCE(sum_0, ox_sum(in[0], OX_DIMS(0), false))
REDUCE(sum_1, ox_sum(in[0], OX_DIMS(-1), true))
REDUCE(mean, ox_mean(in[0], OX_DIMS(-1), false))
REDUCE(var, ox_var(in[0], OX_ALL_DIMS, 1, false))
REDUCE(norm, ox_norm(in[0], 2, OX_DIMS(0), false))
REDUCE(amax, ox_amax(in[0], OX_DIMS(-1), false))
REDUCE(argmax, ox_argmax(in[0], 0, false))
REDUCE(argmax_all, ox_argmax(in[0], OX_FLATTENED, false))
REDUCE(logsumexp, ox_logsumexp(in[0], OX_DIMS(-1), false))
REDUCE(any, ox_any(ox_isnan(in[0]), OX_ALL_DIMS, false))
REDUCE(max_values, ox_max(in[0], -1, false).values)
REDUCE(flipped_sum, ox_sum(backwards(ox_t(in[0]), OX_DIMS(0, 1)), OX_DIMS(0), false))
REDUCE(softmax, ox_softmax(in[0], -1))
REDUCE(softmax_0, ox_softmax(in[0], 0))
REDUCE(log_softmax, ox_log_softmax(in[0], -1))
REDUCE(cumsum, ox_cumsum(in[0], -1))
REDUCE(cumsum_0, ox_cumsum(in[0], 0))
REDUCE(sort, ox_sort(in[0], -1, false).values)
REDUCE(rms_norm, ox_rms_norm(in[0], 1, in[1], 1e-5))
REDUCE(layer_norm, ox_layer_norm(in[0], 1, in[1], NULL, 1e-5))
REDUCE(rope, ox_rope(in[0], NULL, NULL))

#define ROW_WORK(name, operands) \
    { #name, run_##name, operands }
static const struct {
    const char *name;
    stream_run run;
    int operands;
} row_works[] = {
    ROW_WORK(sum_all, 1),    ROW_WORK(sum_0, 1),     ROW_WORK(sum_1, 1),       ROW_WORK(mean, 1),
    ROW_WORK(var, 1),        ROW_WORK(norm, 1),      ROW_WORK(amax, 1),        ROW_WORK(argmax, 1),
    ROW_WORK(argmax_all, 1), ROW_WORK(logsumexp, 1), ROW_WORK(any, 1),         ROW_WORK(max_values, 1),
    ROW_WORK(softmax, 1),    ROW_WORK(softmax_0, 1), ROW_WORK(log_softmax, 1), ROW_WORK(flipped_sum, 1),
    ROW_WORK(cumsum, 1),     ROW_WORK(cumsum_0, 1),  ROW_WORK(sort, 1),        ROW_WORK(rms_norm, 2),
    ROW_WORK(layer_norm, 2),
};

/* The CPU reduces in chunks of up to half a million elements: a tile holds at least one. */
static void test_rows(const stream_case *small) {
    static const int64_t shapes[][2] = {{1, 1}, {3, 20000}, {3000, 300}, {20000, 5}, {30000, 33}, {7, 99999}};
    const stream_case large = case_sized(small, 6 << 20, 64 << 10), *c = &large;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        OX_SCOPE {
            ox_tensor *x[2] = {numbers(OX_SHAPE(shapes[i][0], shapes[i][1]), OX_F32, 1),
                               numbers(OX_SHAPE(shapes[i][1]), OX_F32, 2)};
            for (size_t w = 0; w < sizeof row_works / sizeof *row_works; w++)
                compare(c, row_works[w].name, row_works[w].run, x, row_works[w].operands);
        }
    OX_SCOPE {
        ox_tensor *x[1] = {numbers(OX_SHAPE(5 * BUDGET / 2), OX_F16, 1)};
        compare(c, "sum of f16", run_sum_all, x, 1);
        compare(c, "var of f16", run_var, x, 1);
        compare(c, "argmax of f16", run_argmax_all, x, 1);
        compare(c, "any of f16", run_any, x, 1);
        ox_tensor *y[1] = {numbers(OX_SHAPE(5 * BUDGET), OX_I8, 1)};
        compare(c, "sum of i8", run_sum_all, y, 1);
        ox_tensor *z[1] = {numbers(OX_SHAPE(8, 100, 64), OX_F32, 1)};
        compare(c, "rope", run_rope, z, 1);
        compare(c, "softmax of 3 dims", run_softmax, z, 1);
        compare(c, "sum over dim 0 of 3", run_sum_0, z, 1);
    }
}

REDUCE(embedding, ox_embedding(in[1], in[0]))
REDUCE(select, ox_index_select(in[0], 0, in[1]))
REDUCE(log_softmax_0, ox_log_softmax(in[0], 0))
REDUCE(softmax_t, ox_softmax(ox_t(in[0]), -1))
REDUCE(softmax_flipped, ox_softmax(backwards(in[0], OX_DIMS(0, 1)), 0))
REDUCE(layer_norm_all, ox_layer_norm(in[0], 2, in[1], in[2], 1e-5))
REDUCE(rms_norm_all, ox_rms_norm(in[0], 2, in[1], 1e-5))
REDUCE(group_norm, ox_group_norm(in[0], 2, in[1], in[2], 1e-5))
REDUCE(var_0, ox_var(in[0], OX_DIMS(0), 1, false))
REDUCE(logsumexp_0, ox_logsumexp(in[0], OX_DIMS(0), true))
REDUCE(prod_0, ox_prod(in[0], OX_DIMS(0), false))

static ox_tensor *gaps(ox_tensor *x) {
    x = ox_narrow(ox_narrow(ox_narrow(x, 0, 1, 3), 1, 2, 8), 2, 1, 5);
    return ox_narrow(x, 3, 4, 6);
}
REDUCE(gap_softmax, ox_softmax(gaps(in[0]), 0))
REDUCE(gap_log_softmax, ox_log_softmax(gaps(in[0]), 1))
REDUCE(gap_rms_norm, ox_rms_norm(gaps(in[0]), 2, NULL, 1e-5))
REDUCE(gap_group_norm, ox_group_norm(gaps(in[0]), 2, NULL, NULL, 1e-5))
REDUCE(every_other, ox_softmax(ox_slice(in[0], 2, 0, INT64_MAX, 2), -1))
REDUCE(norm_every_other, ox_layer_norm(ox_slice(in[0], 2, 1, INT64_MAX, 3), 2, NULL, NULL, 1e-5))

/* Lines beyond a tile, side by side (dim 0, of few and of many columns) and each in one run: what was
 * measured in parts is written in parts. */
static void test_long_rows(const stream_case *small, ox_dtype dtype) {
    static const stream_run across[] = {run_softmax_0, run_log_softmax_0, run_softmax_flipped, run_sum_0,
                                        run_var_0,     run_logsumexp_0,   run_prod_0,          run_argmax};
    static const int64_t shapes[][2] = {{5001, 70}, {1500, 301}, {130, 17000}, {2, 90001}, {40, 70000}};
    const stream_case large = case_sized(small, 16 << 20, 64 << 10), *c = &large;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        OX_SCOPE {
            ox_tensor *x[1] = {numbers(OX_SHAPE(shapes[i][0], shapes[i][1]), dtype, i)};
            for (size_t w = 0; w < sizeof across / sizeof *across; w++) compare(c, "dim 0", across[w], x, 1);
            compare(c, "softmax of rows", run_softmax, x, 1);
            compare(c, "softmax, transposed", run_softmax_t, x, 1);
        }
    OX_SCOPE {
        ox_tensor *x[3] = {numbers(OX_SHAPE(3, 250, 301), dtype, 1), numbers(OX_SHAPE(250, 301), dtype, 2),
                           numbers(OX_SHAPE(250, 301), dtype, 3)};
        compare_masks(c, "layer_norm of 2 dims", run_layer_norm_all, x, 3);
        compare(c, "rms_norm of 2 dims", run_rms_norm_all, x, 2);
        x[0] = numbers(OX_SHAPE(2, 4, 60011), dtype, 4);
        x[1] = numbers(OX_SHAPE(4), dtype, 5);
        x[2] = numbers(OX_SHAPE(4), dtype, 6);
        compare(c, "group_norm", run_group_norm, x, 3);
        x[0] = numbers(OX_SHAPE(400001), dtype, 7);
        compare(c, "softmax of one line", run_softmax, x, 1);
        compare(c, "log_softmax of one line", run_log_softmax, x, 1);
    }
}

/* Rows with gaps between and inside them, which the CPU takes by columns or not by their strides: also where
 * a tile would have room for fewer gaps. */
static void test_gaps(const stream_case *c) {
    OX_SCOPE {
        ox_tensor *big[1] = {numbers(OX_SHAPE(4, 11, 8, 12), OX_F32, 1)};
        compare(c, "softmax, gaps", run_gap_softmax, big, 1);
        compare(c, "log_softmax, gaps", run_gap_log_softmax, big, 1);
        compare(c, "rms_norm, gaps", run_gap_rms_norm, big, 1);
        compare(c, "group_norm, gaps", run_gap_group_norm, big, 1);
        ox_tensor *wide[1] = {numbers(OX_SHAPE(9, 40, 300), OX_F64, 2)};
        compare(c, "softmax of every other", run_every_other, wide, 1);
        compare(c, "layer_norm of every other", run_norm_every_other, wide, 1);
        ox_tensor *table[2] = {numbers(OX_SHAPE(6, 96), OX_F16, 3),
                               ox_select(ox_arange(0, 6, 1, OX_I64), 0, 4)};
        compare_masks(c, "one row of a table", run_embedding, table, 2);
        compare_masks(c, "index_select of one row", run_select, table, 2);
    }
}

/* No operand of such calls is loaded as a whole where a tile has room for 16 rows, or a chunk of a line. */
static void test_long_rows_in_tiles(const stream_case *small) {
    const stream_case c = case_sized(small, 16 << 20, 1 << 20);
    OX_SCOPE {
        ox_stream *stream = case_open(&c);
        ox_tensor *wide = ox_to(numbers(OX_SHAPE(300, 17000), OX_F16, 1), ox_stream_device(stream)),
                  *line = ox_to(numbers(OX_SHAPE(6000000), OX_F32, 2), ox_stream_device(stream));
        CHECK(ox_softmax(wide, 0) && ox_sum(wide, OX_DIMS(0), false) && ox_softmax(line, 0));
        CHECK_MSG(ox_stream_get_stats(stream).whole_loads == 0, "%lld whole loads",
                  (long long)ox_stream_get_stats(stream).whole_loads);
        ox_device_close(ox_stream_device(stream));
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_error_clear();
}

/* ---- by index ----------------------------------------------------------------------------------------- */

static ox_tensor *run_cat_0(ox_tensor *const *in) {
    return ox_cat(in, 2, 0);
}
static ox_tensor *run_cat_1(ox_tensor *const *in) {
    return ox_cat(in, 2, 1);
}
static ox_tensor *run_gather(ox_tensor *const *in) {
    return ox_gather(in[0], 0, in[1]);
}
static ox_tensor *run_scatter_add(ox_tensor *const *in) {
    return ox_scatter_add(in[0], 1, in[1], in[2]);
}
static ox_tensor *run_index_add(ox_tensor *const *in) {
    return ox_index_add(in[0], 1, ox_select(in[1], 0, 0), in[2], 0.3);
}
static ox_tensor *run_expand(ox_tensor *const *in) {
    return ox_cast(in[0], OX_F32);
}
static ox_tensor *run_quantize(ox_tensor *const *in) {
    return ox_cast(in[0], OX_Q8_0);
}

static void test_index(const stream_case *c) {
    static const ox_dtype tables[] = {OX_F32, OX_F16, OX_Q4_0, OX_Q6_K};
    OX_SCOPE {
        ox_tensor *ids = ox_randint(0, 300, OX_SHAPE(5, 20), OX_I64);
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
            ox_tensor *in[2] = {numbers(OX_SHAPE(300, 512), tables[i], 1), ids};
            compare_masks(c, "embedding", run_embedding, in, 2);
            compare(c, "expand", run_expand, in, 1);
        }
        ox_tensor *odd[2] = {numbers(OX_SHAPE(7, 256 * 97), OX_Q6_K, 1), ox_arange(6, -1, -2, OX_I64)};
        compare_masks(c, "embedding of long rows of blocks", run_embedding, odd, 2);
        compare(c, "expand long rows of blocks", run_expand, odd, 1);
        ox_tensor *in[2] = {numbers(OX_SHAPE(300, 51, 11), OX_F32, 1),
                            ox_randint(0, 300, OX_SHAPE(77), OX_I32)};
        compare_masks(c, "index_select", run_select, in, 2);
        ox_tensor *two[2] = {numbers(OX_SHAPE(300, 51), OX_F32, 1), numbers(OX_SHAPE(300, 51), OX_F32, 2)};
        compare_masks(c, "cat of dim 0", run_cat_0, two, 2);
        compare_masks(c, "cat of dim 1", run_cat_1, two, 2);
        ox_tensor *whole[2] = {numbers(OX_SHAPE(100, 30), OX_F32, 1),
                               ox_randint(0, 100, OX_SHAPE(9, 30), OX_I64)};
        compare_masks(c, "gather", run_gather, whole, 2);
        ox_tensor *rows[3] = {numbers(OX_SHAPE(3000, 51), OX_F32, 1),
                              ox_randint(0, 51, OX_SHAPE(3000, 9), OX_I64),
                              numbers(OX_SHAPE(3000, 9), OX_F32, 2)}; /* larger than a tile */
        compare_masks(c, "scatter_add", run_scatter_add, rows, 3);
        compare_masks(c, "index_add", run_index_add, rows, 3);
        ox_tensor *wide[1] = {numbers(OX_SHAPE(70, 2048), OX_F32, 1)};
        compare(c, "quantize", run_quantize, wide, 1);
    }
}

/* ---- attention ---------------------------------------------------------------------------------------- */

static ox_tensor *run_attention(ox_tensor *const *in) {
    return ox_scaled_dot_product_attention(in[0], in[1], in[2], NULL);
}
static ox_tensor *run_causal(ox_tensor *const *in) {
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.causal = true;
    desc.window = 20;
    return ox_scaled_dot_product_attention(in[0], in[1], in[2], &desc);
}
static ox_tensor *run_masked(ox_tensor *const *in) {
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.mask = in[3];
    return ox_scaled_dot_product_attention(in[0], in[1], in[2], &desc);
}

static ox_tensor *run_sunk(ox_tensor *const *in) {
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.mask = in[3];
    desc.sinks = in[4];
    return ox_scaled_dot_product_attention(in[0], in[1], in[2], &desc);
}

/* Heads are cut, those that share keys stay together; as many queries as the two ways of the CPU want. */
static void test_attention(const stream_case *c, int64_t batch, int64_t heads, int64_t kv_heads,
                           int64_t queries, int64_t keys) {
    OX_SCOPE {
        ox_tensor *in[5] = {numbers(OX_SHAPE(batch, heads, queries, 32), OX_F32, 1),
                            numbers(OX_SHAPE(batch, kv_heads, keys, 32), OX_F32, 2),
                            numbers(OX_SHAPE(batch, kv_heads, keys, 32), OX_F32, 3),
                            numbers(OX_SHAPE(heads, queries, keys), OX_F32, 4),
                            numbers(OX_SHAPE(heads), OX_F32, 5)};
        compare_masks(c, "attention", run_attention, in, 3);
        compare(c, "causal attention", run_causal, in, 3);
        compare_mask(c, "masked attention", run_masked, in, 4, 15);
        compare_mask(c, "attention with sinks", run_sunk, in, 5, 31);
        compare_mask(c, "attention with sinks in RAM", run_sunk, in, 5, 15);
    }
}

/* Keys beyond 4,096 are cut into chunks, whose number hangs on all heads of the call. No operand is loaded as
 * a whole: a tile has room for a head. */
static void test_long_attention(const stream_case *small) {
    const stream_case c = case_sized(small, 16 << 20, 512 << 10);
    OX_SCOPE {
        ox_shape keys = OX_SHAPE(3, 6000, 16);
        ox_tensor *near[3] = {numbers(OX_SHAPE(6, 70, 16), OX_F32, 1), numbers(keys, OX_F32, 2),
                              numbers(keys, OX_F32, 3)};
        ox_tensor *far[3];
        ox_stream *stream = case_open(&c);
        for (int i = 0; i < 3; i++) far[i] = ox_to(near[i], ox_stream_device(stream));
        CHECK(same_bits(run_attention(far), run_attention(near)));
        CHECK(ox_stream_get_stats(stream).whole_loads == 0);
        ox_device_close(ox_stream_device(stream));
    }
}

/* ---- on the device itself ----------------------------------------------------------------------------- */

static void test_moves(const stream_case *c) {
    ox_stream *stream = case_open(c);
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(300, 701), OX_F32, 1), *y = numbers(OX_SHAPE(300, 701), OX_F32, 2);
        ox_tensor *s = ox_to(x, ox_stream_device(stream));
        CHECK(same_bits(s, x));
        CHECK(ox_device_of(s) == ox_stream_device(stream));
        ox_tensor *t = ox_clone(x);
        CHECK(ox_add_(s, y) == s && ox_add_(t, y) && same_bits(s, t));
        CHECK(ox_relu_(s) == s && ox_relu_(t) && same_bits(s, t));
        CHECK(ox_copy_(ox_narrow(s, 1, 3, 5), ox_narrow(y, 1, 3, 5)) &&
              ox_copy_(ox_narrow(t, 1, 3, 5), ox_narrow(y, 1, 3, 5)));
        CHECK(same_bits(s, t));
        CHECK(ox_neg_(ox_t(s)) && ox_neg_(t) && same_bits(s, t));
        CHECK(ox_copy_(ox_narrow(s, 1, 100, 500), ox_narrow(y, 1, 3, 500)) &&
              ox_copy_(ox_narrow(t, 1, 100, 500), ox_narrow(y, 1, 3, 500)));
        CHECK(same_bits(s, t));
        CHECK(ox_fill_(ox_narrow(s, 0, 3, 200), 7) && ox_fill_(ox_narrow(t, 0, 3, 200), 7) &&
              same_bits(s, t));
        CHECK(ox_cumsum_(s, 1) && ox_cumsum_(t, 1) && same_bits(s, t));
        CHECK(ox_softmax(s, 1) && same_bits(ox_softmax(s, 1), ox_softmax(t, 1)));
        CHECK(ox_add_(t, s) && same_bits(t, ox_mul_number(s, 2)));
        CHECK(ox_error() == OX_OK);
        if (ox_error()) printf("  %s\n", ox_error_text());
        ox_error_clear();
    }
    CHECK(ox_stream_get_stats(stream).spilled_bytes == 0);
    ox_device_close(ox_stream_device(stream));
}

/* Tensors without dims and without elements; two streams at once, whose tensors meet by moves alone. */
static void test_odd_ones(const stream_case *c) {
    ox_stream *stream = case_open(c), *other = case_open(c);
    ox_device *here = ox_stream_device(stream), *there = ox_stream_device(other);
    OX_SCOPE {
        ox_tensor *point = ox_select(numbers(OX_SHAPE(3), OX_F32, 1), 0, 2), *far = ox_to(point, here);
        CHECK(same_bits(far, point) && same_bits(ox_exp(far), ox_exp(point)));
        CHECK(same_bits(ox_softmax(far, 0), ox_softmax(point, 0)));
        CHECK(same_bits(ox_sum(far, OX_ALL_DIMS, false), ox_sum(point, OX_ALL_DIMS, false)));
        ox_tensor *none = ox_zeros(OX_SHAPE(0, 5), OX_F32), *empty = ox_to(none, here);
        CHECK(same_bits(ox_relu(empty), none) && same_bits(ox_softmax(empty, 1), none));
        CHECK(same_bits(ox_sum(empty, OX_DIMS(0), false), ox_zeros(OX_SHAPE(5), OX_F32)));
        CHECK(same_bits(ox_sum(empty, OX_DIMS(1), false), ox_zeros(OX_SHAPE(0), OX_F32)));
        CHECK(same_bits(ox_linear(empty, ox_to(ox_ones(OX_SHAPE(7, 5), OX_F32), here), NULL),
                        ox_zeros(OX_SHAPE(0, 7), OX_F32)));
        ox_tensor *parts[2] = {empty, ox_to(ox_ones(OX_SHAPE(2, 5), OX_F32), here)};
        CHECK(same_bits(ox_cat(parts, 2, 0), ox_ones(OX_SHAPE(2, 5), OX_F32)));
        ox_tensor *x = numbers(OX_SHAPE(70, 300), OX_F32, 2), *a = ox_to(x, here), *b = ox_to(a, there);
        CHECK(b && ox_device_of(b) == there && same_bits(a, b));
        CHECK(!ox_add(a, b) && ox_error() == OX_ERR_DEVICE);
        ox_error_clear();
        CHECK(ox_add_(a, ox_to(b, here)) && same_bits(a, ox_mul_number(x, 2)) && same_bits(b, x));
        CHECK(ox_copy_(ox_t(b), ox_t(a)) && same_bits(b, a));
        CHECK(ox_copy_(ox_narrow(a, 0, 1, 69), ox_narrow(a, 0, 0, 69)) && /* onto itself, a row further */
              same_bits(ox_narrow(a, 0, 1, 69), ox_narrow(b, 0, 0, 69)));
        CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
        ox_error_clear();
    }
    ox_device_close(ox_stream_device(stream));
    ox_device_close(ox_stream_device(other));
}

#ifdef __SANITIZE_THREAD__
enum { CASES = 2 }; /* io_uring and threads; the sanitizer takes its time */
#else
enum { CASES = 6 };
#endif

int main(void) {
    check_cases();
    for (int i = 0; i < CASES; i++) {
        stream_case c = case_at(i);
        if (!c.folder) continue;
        test_sizes(&c, i);
        test_moves(&c);
        test_odd_ones(&c);
        if (i % 3 == 2) continue; /* the rest depends less on how bytes are read */
        test_strided(&c);
        test_index(&c);
        if (i < 2) {
            test_products(&c);
            test_experts(&c);
            test_wide_parts(&c);
        }
        if (i < 2) {
            test_rows(&c);
            test_gaps(&c);
            test_long_rows(&c, i ? OX_F32 : OX_F16);
            test_long_rows_in_tiles(&c);
        }
        if (i < 2) {
            test_attention(&c, 2, 4, 2, 1, 100);
            test_attention(&c, 3, 4, 4, 40, 70);
            test_attention(&c, 1, 8, 2, 17, 130);
            test_long_attention(&c);
        }
    }
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("stream");
}
