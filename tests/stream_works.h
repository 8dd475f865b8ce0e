/* stream_works.h - one piece of work for each family of operations that streams cut into tiles, over operands
 * of any size: x and y are [n] of f32. What the tests of sizes and those of faults run through. */
#ifndef STREAM_WORKS_H
#define STREAM_WORKS_H

#include "stream_check.h"

/* The budget has room for two chunks of what the CPU reduces at a time. */
enum { WORK_BUDGET = 1 << 20 };
static const int64_t work_sizes[] = {1,        511,          512, 4095, 4096, 4097, TILE / 4 - 1,
                                     TILE / 4, TILE / 4 + 1, 5 * WORK_BUDGET / 4};
enum { WORK_SIZES = sizeof work_sizes / sizeof *work_sizes };

static ox_tensor *rows_of(ox_tensor *x) {
    return ox_view(x, OX_SHAPE(-1, 1));
}
static ox_tensor *row_of(ox_tensor *x) {
    return ox_view(x, OX_SHAPE(1, -1));
}
/* Small operands in RAM, the same every time. */
static ox_tensor *small(int64_t rows, int64_t columns) {
    return numbers(OX_SHAPE(rows, columns), OX_F32, 77);
}
/* Rows to pick: the first, the last, some in between, again the last. */
static ox_tensor *picks(ox_tensor *x) {
    const int64_t last = ox_numel(x) - 1, at[5] = {0, last, last / 2, last / 3, last};
    return ox_from_data(at, OX_SHAPE(5), OX_I64);
}
static ox_tensor *both(ox_tensor *const *in) {
    ox_tensor *parts[2] = {in[0], in[1]};
    return ox_cat(parts, 2, 0);
}

#define WORK(name, call)                                  \
    static ox_tensor *work_##name(ox_tensor *const *in) { \
        return call;                                      \
    }
WORK(relu, ox_relu(in[0]))
WORK(exp, ox_exp(in[0]))
WORK(to_f16, ox_cast(in[0], OX_F16))
WORK(to_f64, ox_cast(in[0], OX_F64))
WORK(clone, ox_clone(in[0]))
WORK(mul_number, ox_mul_number(in[0], 2.5))
WORK(isnan, ox_isnan(in[0]))
WORK(add, ox_add(in[0], in[1]))
WORK(square, ox_mul(in[0], in[0]))
WORK(lt, ox_lt(in[0], in[1]))
WORK(where, ox_where(ox_gt(in[0], in[1]), in[0], in[1]))
WORK(chain, ox_mul(ox_add(ox_relu(in[0]), in[1]), in[0]))
WORK(lerp, ox_lerp(in[0], in[1], ox_number(0.25)))
WORK(flip, ox_neg(ox_flip(in[0], OX_DIMS(0))))
WORK(by_two, ox_sqrt(ox_abs(ox_slice(in[0], 0, 0, INT64_MAX, 2))))
WORK(outer, ox_add(rows_of(in[0]), small(1, 3)))
WORK(sum, ox_sum(in[0], OX_ALL_DIMS, false))
WORK(sum_rows, ox_sum(rows_of(in[0]), OX_DIMS(1), false))
WORK(mean, ox_mean(in[0], OX_DIMS(0), true))
WORK(var, ox_var(in[0], OX_ALL_DIMS, 1, false))
WORK(norm, ox_norm(in[0], 2, OX_DIMS(0), false))
WORK(amax, ox_amax(in[0], OX_DIMS(0), false))
WORK(argmax, ox_argmax(in[0], OX_FLATTENED, false))
WORK(any, ox_any(ox_isnan(in[0]), OX_ALL_DIMS, false))
WORK(logsumexp, ox_logsumexp(in[0], OX_DIMS(0), false))
WORK(softmax, ox_softmax(in[0], 0))
WORK(softmax_rows, ox_softmax(rows_of(in[0]), 1))
WORK(log_softmax, ox_log_softmax(row_of(in[0]), 1))
WORK(rms_norm, ox_rms_norm(in[0], 1, NULL, 1e-5))
WORK(layer_norm, ox_layer_norm(row_of(in[0]), 1, NULL, NULL, 1e-5))
WORK(cumsum_rows, ox_cumsum(rows_of(in[0]), 1))
WORK(sort_rows, ox_sort(rows_of(in[0]), 1, false).values)
WORK(linear, ox_linear(small(2, 1), rows_of(in[0]), in[1]))
WORK(linear_many, ox_linear(small(11, 1), rows_of(in[0]), NULL))
WORK(linear_of_rows, ox_linear(rows_of(in[0]), small(5, 1), NULL))
WORK(linear_experts, ox_linear_experts(small(1, 1), ox_view(in[0], OX_SHAPE(-1, 1, 1)),
                                       ox_unsqueeze(picks(in[0]), 0), rows_of(in[1])))
WORK(matmul, ox_matmul(rows_of(in[0]), small(1, 3)))
WORK(matmul_of_both, ox_matmul(ox_view(in[0], OX_SHAPE(-1, 1, 1)), ox_view(in[1], OX_SHAPE(-1, 1, 1))))
WORK(addmm, ox_addmm(rows_of(in[1]), rows_of(in[0]), small(1, 1), 0.5, 2))
WORK(embedding, ox_embedding(picks(in[0]), rows_of(in[0])))
WORK(index_select, ox_index_select(in[0], 0, picks(in[0])))
WORK(cat, both(in))

#define ROW(name, operands) {#name, work_##name, operands}
static const struct {
    const char *name;
    stream_run run;
    int operands;
} works[] = {
    ROW(relu, 1),         ROW(exp, 1),          ROW(to_f16, 1),         ROW(to_f64, 1),
    ROW(clone, 1),        ROW(mul_number, 1),   ROW(isnan, 1),          ROW(add, 2),
    ROW(square, 1),       ROW(lt, 2),           ROW(where, 2),          ROW(chain, 2),
    ROW(lerp, 2),         ROW(flip, 1),         ROW(by_two, 1),         ROW(outer, 1),
    ROW(sum, 1),          ROW(sum_rows, 1),     ROW(mean, 1),           ROW(var, 1),
    ROW(norm, 1),         ROW(amax, 1),         ROW(argmax, 1),         ROW(any, 1),
    ROW(logsumexp, 1),    ROW(softmax, 1),      ROW(softmax_rows, 1),   ROW(log_softmax, 1),
    ROW(rms_norm, 1),     ROW(layer_norm, 1),   ROW(cumsum_rows, 1),    ROW(sort_rows, 1),
    ROW(linear, 2),       ROW(linear_many, 1),  ROW(linear_of_rows, 1), ROW(matmul, 1),
    ROW(matmul_of_both, 2), ROW(addmm, 2),      ROW(embedding, 1),      ROW(index_select, 1),
    ROW(cat, 2),          ROW(linear_experts, 2),
};
enum { WORKS = sizeof works / sizeof *works };

#endif
