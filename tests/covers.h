/* covers.h - calls of every row of ops.def that is not elementwise (op_cases.h has those), with operands for
 * each dtype and layout. One line a case. test_coverage.c checks them, bench/pair/bits.c compares two
 * builds. */
#ifndef COVERS_H
#define COVERS_H

#include "oxtorch_nn.h"

#include "op_cases.h"
#include "reduce_cases.h"

#define MOST_OPERANDS 9
#define MOST_RESULTS 2

/* An operand: x the dtype under test, i and j indices of i64 and i32 below `limit`, b a mask, f an f32. */
typedef struct operand {
    char kind;
    int ndim;
    int64_t shape[4];
    domain numbers;
    int64_t limit;
} operand;

typedef void (*cover_run)(ox_tensor *const *in, ox_tensor **out);
typedef struct cover {
    const char *row, *label;
    operand in[MOST_OPERANDS];
    cover_run run;
    const char *not_for; /* dtypes that the row accepts as a class, but not one by one: ",f8_e4m3," */
} cover;

#define RUN(name, ...)                                                \
    static void cover_##name(ox_tensor *const *in, ox_tensor **out) { \
        (void)in;                                                     \
        __VA_ARGS__;                                                  \
    }
#define GIVES(name, call) RUN(name, out[0] = (call))
#define PAIR(name, call) RUN(name, ox_pair pair = (call); out[0] = pair.values; out[1] = pair.indices)

/* ---- reductions and rows: x [3,4,5] or so ------------------------------------------------------------ */

#define REDUCES(NAME, op, as, complex, reading)                     \
    GIVES(op, ox_##op(in[0], OX_DIMS(1), false))                    \
    GIVES(op##_all, ox_##op(in[0], OX_ALL_DIMS, true))              \
    GIVES(op##_last, ox_##op(in[0], OX_DIMS(0, -1), false))
REDUCE_CASES(REDUCES)
#undef REDUCES
/* x, and refused if it is complex, where the function is made of other rows then. */
TEST_UNUSED static ox_tensor *of_reals(ox_tensor *x) {
    return x && x->dtype == OX_C64 ? ox_softsign(x) : x;
}
GIVES(var, ox_var(of_reals(in[0]), OX_DIMS(-1), 1, false))
GIVES(std, ox_std(of_reals(in[0]), OX_DIMS(0), 0, true))
GIVES(norm, ox_norm(in[0], 2, OX_DIMS(-1), false))
GIVES(norm_3, ox_norm(in[0], 3, OX_DIMS(0), false))
GIVES(count_nonzero, ox_count_nonzero(in[0], OX_DIMS(1)))
GIVES(argmax, ox_argmax(in[0], 1, false))
GIVES(argmax_all, ox_argmax(in[0], OX_FLATTENED, false))
GIVES(argmin, ox_argmin(in[0], -1, true))
PAIR(max, ox_max(in[0], 1, false))
PAIR(min, ox_min(in[0], 0, true))
GIVES(cumsum, ox_cumsum(in[0], 1))
GIVES(cumprod, ox_cumprod(in[0], -1))
PAIR(sort, ox_sort(in[0], 1, false))
PAIR(sort_last, ox_sort(in[0], -1, true))
PAIR(topk, ox_topk(in[0], 2, 1, true))
GIVES(softmax, ox_softmax(in[0], -1))
GIVES(softmax_first, ox_softmax(in[0], 0))
GIVES(log_softmax, ox_log_softmax(in[0], 1))
GIVES(layer_norm, ox_layer_norm(in[0], 2, in[1], in[2], 1e-5))
GIVES(rms_norm, ox_rms_norm(in[0], 1, in[1], 1e-6))
GIVES(instance_norm, ox_instance_norm(in[0], in[1], in[2], 1e-5))
GIVES(clamp_tensor, ox_clamp_tensor(in[0], in[1], in[2]))
GIVES(clamp_low, ox_clamp_tensor(in[0], in[1], NULL))
GIVES(conv2d, ox_conv2d(in[0], in[1], in[2], NULL))
GIVES(conv1d, ox_conv1d(in[0], in[1], in[2], NULL))
RUN(conv_transpose2d, ox_conv_transpose_desc desc; memset(&desc, 0, sizeof desc); desc.stride = OX_DIMS(2);
    out[0] = ox_conv_transpose2d(in[0], in[1], in[2], &desc))
GIVES(conv_back_weight, ox_conv_back_weight(in[0], in[1], OX_SHAPE(3, 2), NULL))
PAIR(max_pool2d, ox_max_pool2d_with_indices(in[0], OX_DIMS(3, 2), OX_DIMS(2), OX_DIMS(1), OX_DIMS(1, 2),
                                            true))
GIVES(avg_pool2d, ox_avg_pool2d(in[0], OX_DIMS(3, 2), OX_DIMS(2), OX_DIMS(1), true, false, 0))
GIVES(avg_pool3d, ox_adaptive_avg_pool3d(in[0], OX_DIMS(2, 3, 2)))
GIVES(avg_pool_back, ox_avg_pool_back(in[0], OX_DIMS(7, 5), OX_DIMS(3, 2), OX_DIMS(2, 1), OX_DIMS(1, 0),
                                      false, true, 0))
GIVES(batch_norm, ox_batch_norm(in[0], in[1], in[2], NULL, NULL, true, 0.1, 1e-3))
GIVES(group_norm, ox_group_norm(in[0], 2, in[1], in[2], 1e-5))

/* ---- index, products, transformers ------------------------------------------------------------------- */

GIVES(gather, ox_gather(in[0], 1, in[1]))
GIVES(take_along_dim, ox_take_along_dim(in[0], in[1], 1))
GIVES(scatter, ox_scatter(in[0], 1, ox_select(ox_unsqueeze(in[1], 0), 0, 0), in[2]))
GIVES(scatter_add, ox_scatter_add(in[0], 0, in[1], in[2]))
GIVES(scatter_prod, ox_scatter_reduce(in[0], 0, in[1], in[2], OX_REDUCTION_PROD, true))
GIVES(scatter_amax, ox_scatter_reduce(in[0], 0, in[1], in[2], OX_REDUCTION_AMAX, false))
GIVES(scatter_amin, ox_scatter_reduce(in[0], 0, in[1], in[2], OX_REDUCTION_AMIN, true))
GIVES(index_select, ox_index_select(in[0], 1, in[1]))
GIVES(index_add, ox_index_add(in[0], 1, in[1], in[2], 2))
GIVES(masked_select, ox_masked_select(in[0], in[1]))
GIVES(nonzero, ox_nonzero(in[0]))
GIVES(embedding, ox_embedding(in[1], in[0]))
GIVES(one_hot, ox_one_hot(ox_clamp(in[0], 0, 6), 7))
GIVES(triu, ox_triu(in[0], 1))
GIVES(tril, ox_tril(in[0], -1))
RUN(cat, ox_tensor *list[3]; list[0] = in[0]; list[1] = in[1]; list[2] = in[0]; out[0] = ox_cat(list, 3, 1))
RUN(stack, out[0] = ox_stack(in, 2, 1))
GIVES(roll, ox_roll(in[0], OX_DIMS(2, -1), OX_DIMS(0, 2)))
GIVES(roll_flat, ox_roll(in[0], OX_DIMS(7), OX_ALL_DIMS))
GIVES(matmul, ox_matmul(in[0], in[1]))
GIVES(int_mm, ox_int_mm(in[0], in[1]))
GIVES(linear, ox_linear(in[0], in[1], in[2]))
GIVES(linear_act, ox_linear_act(in[0], in[1], NULL, OX_ACTIVATION_RELU))
GIVES(linear_experts, ox_linear_experts(in[0], in[1], in[2], in[3]))
GIVES(addmm, ox_addmm(in[0], in[1], in[2], 2, 3))
RUN(rope, ox_rope_desc desc; memset(&desc, 0, sizeof desc); desc.interleaved = true; desc.factors = in[2];
    out[0] = ox_rope(in[0], in[1], &desc))
RUN(attention, ox_attention_desc desc; memset(&desc, 0, sizeof desc); desc.causal = true; desc.mask = in[3];
    desc.sinks = in[4];
    out[0] = ox_scaled_dot_product_attention(in[0], in[1], in[2], &desc))
GIVES(linear_attention, ox_linear_attention(in[0], in[1], in[2], in[3], in[4], in[5], in[6]))
GIVES(selective_scan, ox_selective_scan(in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8], true,
                                        in[8] != NULL))

/* ---- special functions, linear algebra, Fourier transforms ------------------------------------------- */

/* x + x^H, and more on the diagonal. */
TEST_UNUSED static ox_tensor *symmetric(ox_tensor *x, double more) {
    ox_tensor *turned = ox_transpose(x, -1, -2);
    ox_tensor *sum = ox_add(x, turned && turned->dtype == OX_C64 ? ox_conj(turned) : turned);
    if (more == 0 || !sum) return sum;
    ox_tensor *eye = ox_mul_number(ox_eye(x->shape[x->ndim - 1], x->shape[x->ndim - 1], OX_F64), more);
    return ox_add(sum, ox_cast(eye, sum->dtype));
}
/* Eigenvalues far apart: gradients of vectors grow as those come together. */
TEST_UNUSED static ox_tensor *spaced(ox_tensor *x, double step) {
    int64_t n = x->shape[x->ndim - 1];
    return ox_add(x, ox_cast(ox_diag(ox_arange(0, (double)n * step, step, OX_F64), 0), x->dtype));
}
/* x if it is complex, and refused otherwise: functions would take real numbers too. */
#define COMPLEX_OF(x) ox_view_as_complex(ox_view_as_real(x))
/* Vectors that are unique but for their phase. */
TEST_UNUSED static ox_tensor *phaseless(ox_tensor *x) {
    return x && x->dtype == OX_C64 ? ox_abs(x) : x;
}
#define FACTORS(name, call) RUN(name, ox_tuple made = (call); out[0] = made.t[0]; out[1] = made.t[1])

GIVES(lgamma, ox_lgamma(in[0]))
GIVES(polygamma, ox_polygamma(1, in[0]))
GIVES(i1e, ox_i1e(in[0]))
FACTORS(cholesky, ox_cholesky_ex(symmetric(in[0], 30), false))
FACTORS(cholesky_upper, ox_cholesky_ex(symmetric(in[0], 30), true))
FACTORS(lu_factor, ox_lu_factor(in[0], true))
FACTORS(qr, ox_qr(in[0], NULL))
FACTORS(geqrf, ox_geqrf(in[0]))
RUN(eigh, ox_tuple made = ox_eigh(symmetric(spaced(in[0], 12), 0), false); out[0] = made.t[0];
    out[1] = phaseless(made.t[1]))
RUN(svd, ox_tuple made = ox_svd(in[0], false); out[0] = phaseless(made.t[0]); out[1] = made.t[1])
RUN(eig, ox_tuple made = ox_eig(spaced(in[0], 12)); out[0] = ox_abs(made.t[0]);
    out[1] = ox_square(ox_abs(made.t[1]))) /* smooth also where a number vanishes */
/* Well conditioned. */
GIVES(solve, ox_solve(ox_sub(symmetric(in[0], 40), in[0]), ox_sin(in[1]), true))
GIVES(solve_triangular, ox_solve_triangular(of_reals(in[0]), in[1], true, true, false))
GIVES(solve_triangular_right, ox_solve_triangular(of_reals(in[0]), in[1], false, false, true))
GIVES(pinv, ox_pinv(in[0], 0, -1, false))
GIVES(det, ox_det(in[0]))
GIVES(fft_c2c, ox_fft(COMPLEX_OF(in[0]), 0, 1, NULL))
GIVES(fft_r2c, ox_rfft(in[0], 0, -1, "ortho"))
GIVES(fft_c2r, ox_irfft(COMPLEX_OF(in[0]), 0, 1, "forward"))

/* ---- copies, random numbers over an operand, views --------------------------------------------------- */

GIVES(clone, ox_clone(in[0]))
RUN(contiguous, ox_clone(in[0]); out[0] = ox_contiguous(in[0]))
GIVES(copy_, ox_copy_(ox_t(ox_empty(OX_SHAPE(5, 4), in[0]->dtype)), in[0]))
RUN(cast_f32, ox_clone(in[0]); out[0] = ox_cast(in[0], OX_F32))
RUN(cast_u8, ox_clone(in[0]); out[0] = ox_cast(in[0], OX_U8))
RUN(cast_bf16, ox_clone(in[0]); out[0] = ox_cast(in[0], OX_BF16))
GIVES(repeat, ox_repeat(in[0], OX_SHAPE(2, 3)))
RUN(bernoulli, ox_manual_seed(1); out[0] = ox_bernoulli(in[0]))
RUN(multinomial, ox_manual_seed(2); out[0] = ox_multinomial(in[0], 3, false))
GIVES(alias, ox_cast(in[0], in[0]->dtype))
GIVES(permute, ox_permute(in[0], OX_DIMS(2, 0, 1)))
GIVES(view, ox_unsqueeze(in[0], 1))
GIVES(slice, ox_slice(in[0], 1, OX_END, OX_END, -3))
GIVES(select, ox_select(in[0], 1, 2))
GIVES(expand, ox_expand(ox_narrow(in[0], 0, 1, 1), OX_SHAPE(2, 6, -1, -1)))
GIVES(flip, ox_flip(in[0], OX_DIMS(0, 2)))
GIVES(diagonal, ox_diagonal(in[0], 1, 0, 2))
GIVES(unfold, ox_unfold(in[0], 1, 2, 2))
RUN(as_strided, int64_t s = in[0]->stride[2];
    out[0] = ox_as_strided(in[0], OX_SHAPE(2, 2), OX_SHAPE(s, 0), in[0]->offset))
GIVES(view_dtype, ox_view_dtype(in[0], in[0]->dtype))
GIVES(view_as_real, ox_view_as_real(in[0]))

/* ---- made from nothing: the dtype comes from a small operand ----------------------------------------- */

GIVES(fill, ox_full(OX_SHAPE(5, 7), 3, in[0]->dtype))
GIVES(fill_, ox_fill_(ox_t(ox_empty(OX_SHAPE(5, 7), in[0]->dtype)), 1))
GIVES(arange, ox_arange(0, 13, 1, in[0]->dtype))
GIVES(linspace, ox_linspace(0, 12, 13, in[0]->dtype))
GIVES(eye, ox_eye(5, 7, in[0]->dtype))
RUN(uniform, ox_manual_seed(3); out[0] = ox_rand(OX_SHAPE(33), in[0]->dtype))
RUN(uniform_, ox_manual_seed(3); out[0] = ox_uniform_(ox_t(ox_empty(OX_SHAPE(5, 7), in[0]->dtype)), -1, 1))
RUN(normal, ox_manual_seed(4); out[0] = ox_randn(OX_SHAPE(33), in[0]->dtype))
RUN(normal_, ox_manual_seed(4); out[0] = ox_normal_(ox_t(ox_empty(OX_SHAPE(5, 7), in[0]->dtype)), 1, 2))
RUN(randint, ox_manual_seed(5); out[0] = ox_randint(0, 2, OX_SHAPE(33), in[0]->dtype))
RUN(randperm, ox_manual_seed(6); out[0] = ox_randperm(7, in[0]->dtype))

/* ---- the table --------------------------------------------------------------------------------------- */

/* clang-format off */
#define NOTHING {0, 0, {0}, DOMAIN_ANY, 0}
#define X2(a, b) {'x', 2, {a, b}, DOMAIN_MODEST, 0}
#define X3(a, b, c) {'x', 3, {a, b, c}, DOMAIN_MODEST, 0}
#define X4(a, b, c, d) {'x', 4, {a, b, c, d}, DOMAIN_MODEST, 0}
#define X1(a) {'x', 1, {a}, DOMAIN_MODEST, 0}
#define INDEX1(kind, a, limit) {kind, 1, {a}, DOMAIN_ANY, limit}
#define INDEX2(kind, a, b, limit) {kind, 2, {a, b}, DOMAIN_ANY, limit}
#define ONE_X3(row, name) {#row, #name, {X3(3, 8, 5), NOTHING, NOTHING, NOTHING}, cover_##name, ""},
#define LONG_X3(row, name) {#row, #name " long", {X3(3, 70, 33), NOTHING, NOTHING, NOTHING}, cover_##name, \
    ""},
#define ONE_X2(row, name) {#row, #name, {X2(4, 5), NOTHING, NOTHING, NOTHING}, cover_##name, ""},
#define MADE(row, name, not_for) {#row, #name, {X1(3), NOTHING, NOTHING, NOTHING}, cover_##name, not_for},

static const cover covers[] = {
#define REDUCES(NAME, op, as, complex, reading) \
    ONE_X3(op, op) ONE_X3(op, op##_all) ONE_X3(op, op##_last) LONG_X3(op, op) LONG_X3(op, op##_last)
    REDUCE_CASES(REDUCES)
#undef REDUCES
    ONE_X3(var, var) LONG_X3(var, var) ONE_X3(std, std) ONE_X3(norm, norm) ONE_X3(norm, norm_3)
    ONE_X3(count_nonzero, count_nonzero) ONE_X3(argmax, argmax) ONE_X3(argmax, argmax_all)
    ONE_X3(argmin, argmin)
    ONE_X3(max_dim, max) ONE_X3(min_dim, min)
    ONE_X3(cumsum, cumsum) LONG_X3(cumsum, cumsum) ONE_X3(cumprod, cumprod)
    ONE_X3(sort, sort) LONG_X3(sort, sort) ONE_X3(sort, sort_last) ONE_X3(topk, topk)
    ONE_X3(softmax, softmax) LONG_X3(softmax, softmax) ONE_X3(softmax, softmax_first)
    ONE_X3(log_softmax, log_softmax)
    {"layer_norm", "layer_norm", {X3(3, 4, 17), X2(4, 17), X2(4, 17), NOTHING}, cover_layer_norm, ""},
    {"rms_norm", "rms_norm", {X3(3, 4, 17), X1(17), NOTHING, NOTHING}, cover_rms_norm, ""},
    {"group_norm", "group_norm", {X3(3, 6, 5), X1(6), X1(6), NOTHING}, cover_group_norm, ""},
    {"batch_norm", "batch_norm", {X3(3, 6, 5), X1(6), X1(6), NOTHING}, cover_batch_norm, ""},
    {"instance_norm", "instance_norm", {X3(3, 6, 5), X1(6), X1(6), NOTHING}, cover_instance_norm, ""},
    {"clamp_tensor", "clamp_tensor", {X3(3, 1, 5), X2(4, 5), X1(1), NOTHING}, cover_clamp_tensor, ""},
    {"clamp_tensor", "clamp_tensor low", {X2(3, 5), X2(3, 5), NOTHING, NOTHING}, cover_clamp_low, ""},
    {"conv", "conv2d", {X4(2, 3, 5, 6), X4(4, 3, 3, 2), X1(4), NOTHING}, cover_conv2d, ""},
    {"conv", "conv1d", {X3(2, 3, 6), X3(4, 3, 2), X1(4), NOTHING}, cover_conv1d, ""},
    {"conv_back_input", "conv_transpose2d", {X4(2, 3, 4, 3), X4(3, 4, 3, 2), X1(4), NOTHING},
     cover_conv_transpose2d, ""},
    {"max_pool", "max_pool2d", {X4(2, 3, 5, 6), NOTHING, NOTHING, NOTHING}, cover_max_pool2d, ""},
    {"avg_pool", "avg_pool2d", {X4(2, 3, 5, 6), NOTHING, NOTHING, NOTHING}, cover_avg_pool2d, ""},
    {"avg_pool", "avg_pool3d", {X4(2, 3, 5, 6), NOTHING, NOTHING, NOTHING}, cover_avg_pool3d, ""},
    {"avg_pool_back", "avg_pool_back", {X4(2, 3, 4, 4), NOTHING, NOTHING, NOTHING}, cover_avg_pool_back, ""},
    {"conv_back_weight", "conv_back_weight", {X4(2, 4, 3, 5), X4(2, 3, 5, 6), NOTHING, NOTHING},
     cover_conv_back_weight, ""},
    {"gather", "gather", {X2(4, 7), INDEX2('i', 4, 9, 7), NOTHING, NOTHING}, cover_gather, ""},
    {"gather", "gather by i32", {X2(4, 7), INDEX2('j', 3, 5, 7), NOTHING, NOTHING}, cover_gather, ""},
    {"gather", "take_along_dim", {X2(4, 7), INDEX2('i', 1, 9, 7), NOTHING, NOTHING}, cover_take_along_dim,
     ""},
    {"scatter", "scatter", {X2(4, 7), INDEX2('j', 3, 1, 7), X2(4, 7), NOTHING}, cover_scatter, ""},
    {"scatter_add", "scatter_add", {X2(4, 7), INDEX2('i', 9, 6, 4), X2(9, 7), NOTHING}, cover_scatter_add,
     ""},
    {"scatter_prod", "scatter_reduce of products", {X2(4, 7), INDEX2('i', 9, 6, 4), X2(9, 7), NOTHING},
     cover_scatter_prod, ""},
    {"scatter_amax", "scatter_reduce of the largest", {X2(4, 7), INDEX2('i', 9, 6, 4), X2(9, 7), NOTHING},
     cover_scatter_amax, ""},
    {"scatter_amin", "scatter_reduce of the smallest", {X2(4, 7), INDEX2('j', 9, 6, 4), X2(9, 7), NOTHING},
     cover_scatter_amin, ""},
    {"index_select", "index_select", {X3(4, 7, 3), INDEX1('i', 11, 7), NOTHING, NOTHING},
     cover_index_select, ""},
    {"index_select", "index_select by i32", {X3(4, 7, 3), INDEX1('j', 5, 7), NOTHING, NOTHING},
     cover_index_select, ""},
    {"index_add", "index_add", {X3(4, 7, 3), INDEX1('i', 5, 7), X3(4, 5, 3), NOTHING}, cover_index_add, ""},
    {"masked_select", "masked_select", {X2(4, 7), {'b', 2, {4, 7}, DOMAIN_ANY, 0}, NOTHING, NOTHING},
     cover_masked_select, ""},
    {"masked_select", "masked_select, broadcast", {X2(4, 7), {'b', 2, {4, 1}, DOMAIN_ANY, 0}, NOTHING,
     NOTHING}, cover_masked_select, ""},
    {"nonzero", "nonzero", {{'x', 3, {3, 4, 5}, DOMAIN_UNIT, 0}, NOTHING, NOTHING, NOTHING}, cover_nonzero,
     ""},
    {"embedding", "embedding", {X2(9, 6), INDEX2('i', 4, 3, 9), NOTHING, NOTHING}, cover_embedding, ""},
    {"embedding", "embedding by i32", {X2(9, 6), INDEX1('j', 5, 9), NOTHING, NOTHING}, cover_embedding, ""},
    {"one_hot", "one_hot", {X2(4, 3), NOTHING, NOTHING, NOTHING}, cover_one_hot, ",u8,i8,u16,i16,u32,u64,"},
    ONE_X2(triu, triu) ONE_X3(triu, triu) ONE_X2(tril, tril)
    {"cat", "cat", {X2(4, 7), X2(4, 2), NOTHING, NOTHING}, cover_cat, ""},
    {"cat", "stack", {X2(4, 7), X2(4, 7), NOTHING, NOTHING}, cover_stack, ""},
    ONE_X3(roll, roll) ONE_X3(roll, roll_flat)
    {"matmul", "matmul", {X3(2, 5, 7), X2(7, 9), NOTHING, NOTHING}, cover_matmul, ""},
    {"matmul", "matmul, large", {X2(33, 65), X2(65, 40), NOTHING, NOTHING}, cover_matmul, ""},
    {"matmul", "matmul of a vector", {X2(33, 17), X1(17), NOTHING, NOTHING}, cover_matmul, ""},
    {"matmul", "matmul, batches broadcast", {X4(2, 1, 3, 4), X3(3, 4, 5), NOTHING, NOTHING}, cover_matmul,
     ""},
    {"int_mm", "int_mm", {X3(2, 33, 65), X2(65, 40), NOTHING, NOTHING}, cover_int_mm,
     ",u8,u16,i16,u32,i32,u64,i64,"},
    {"linear", "linear", {X2(5, 17), X2(9, 17), {'x', 1, {9}, DOMAIN_MODEST, 0}, NOTHING}, cover_linear, ""},
    {"linear", "linear_act", {X3(2, 5, 17), X2(9, 17), NOTHING, NOTHING}, cover_linear_act,
     ",u8,i8,u16,i16,u32,i32,u64,i64,c64,"},
    {"linear_experts", "linear_experts", {X2(5, 17), X3(4, 9, 17), INDEX2('j', 5, 2, 4), X2(4, 9)},
     cover_linear_experts, ""},
    {"linear_experts", "linear_experts of each slot", {X3(2, 3, 17), X3(4, 9, 17), INDEX2('i', 2, 3, 4),
     NOTHING}, cover_linear_experts, ""},
    {"addmm", "addmm", {X2(5, 9), X2(5, 7), X2(7, 9), NOTHING}, cover_addmm, ""},
    {"special", "lgamma", {{'x', 3, {3, 4, 5}, DOMAIN_POSITIVE, 0}, NOTHING, NOTHING, NOTHING}, cover_lgamma,
     ""},
    {"special", "polygamma", {{'x', 2, {3, 5}, DOMAIN_POSITIVE, 0}, NOTHING, NOTHING, NOTHING},
     cover_polygamma, ""},
    ONE_X3(special, i1e)
#define WIDE ",f16,bf16,f8_e4m3,f8_e5m2,"
#define FACTOR(row, name, x) {#row, #name, {x, NOTHING, NOTHING, NOTHING}, cover_##name, WIDE},
    FACTOR(cholesky, cholesky, X3(2, 5, 5)) FACTOR(cholesky, cholesky_upper, X2(4, 4))
    FACTOR(lu_factor, lu_factor, X3(2, 5, 5)) FACTOR(lu_factor, lu_factor, X2(4, 6))
    FACTOR(lu_factor, lu_factor, X2(6, 4))
    FACTOR(qr, qr, X3(2, 5, 3)) FACTOR(qr, qr, X2(3, 5)) FACTOR(geqrf, geqrf, X3(2, 5, 3))
    FACTOR(eigh, eigh, X3(2, 4, 4)) FACTOR(svd, svd, X3(2, 5, 3)) FACTOR(svd, svd, X2(3, 5))
    FACTOR(eig, eig, X2(4, 4)) FACTOR(pinv, pinv, X3(2, 5, 3)) FACTOR(pinv, pinv, X2(3, 5))
    FACTOR(det, det, X3(2, 4, 4))
    {"solve", "solve", {X3(2, 5, 5), X3(2, 5, 3), NOTHING, NOTHING}, cover_solve, WIDE},
    {"solve_triangular", "solve_triangular", {{'x', 3, {2, 5, 5}, DOMAIN_NOT_ZERO, 0}, X3(2, 5, 3), NOTHING,
     NOTHING}, cover_solve_triangular, WIDE},
    {"solve_triangular", "solve_triangular_right", {{'x', 2, {4, 4}, DOMAIN_UNIT, 0}, X3(2, 3, 4), NOTHING,
     NOTHING}, cover_solve_triangular_right, WIDE},
    ONE_X3(fft_c2c, fft_c2c) ONE_X3(fft_r2c, fft_r2c) ONE_X3(fft_c2r, fft_c2r)
    {"rope", "rope", {X3(2, 5, 8), INDEX1('i', 5, 100), {'f', 1, {4}, DOMAIN_POSITIVE, 0}, NOTHING},
     cover_rope, ",u8,i8,u16,i16,u32,i32,u64,i64,"},
    {"attention", "attention", {X4(2, 4, 5, 8), X4(2, 2, 7, 8), X4(2, 2, 7, 6), {'b', 2, {5, 7},
     DOMAIN_NOT_ZERO, 0}}, cover_attention, ",bool,"},
    {"attention", "attention with sinks", {X4(2, 4, 5, 8), X4(2, 2, 7, 8), X4(2, 2, 7, 6), {'b', 2, {5, 7},
     DOMAIN_NOT_ZERO, 0}, {'f', 1, {4}, DOMAIN_MODEST, 0}}, cover_attention, ",bool,"},
    {"linear_attention", "linear_attention", {X3(2, 3, 6), X3(2, 3, 6), X3(2, 3, 9), X3(2, 3, 1),
     X3(2, 6, 9)}, cover_linear_attention, ""},
    {"linear_attention", "linear_attention of each number", {X3(2, 3, 6), X3(2, 3, 6), X3(2, 3, 9),
     X4(2, 3, 6, 9), X3(2, 6, 9)}, cover_linear_attention, ""},
    {"linear_attention", "linear_attention that erases", {X3(2, 3, 6), X3(2, 3, 6), X3(2, 3, 9), X3(2, 3, 6),
     X3(2, 6, 9), X3(2, 3, 6), X3(2, 3, 6)}, cover_linear_attention, ""},
    {"selective_scan", "selective_scan", {X3(2, 3, 9), X3(2, 3, 9), X3(2, 6, 9), X3(2, 3, 6), X3(2, 3, 6),
     X3(2, 6, 9)}, cover_selective_scan, ""},
    {"selective_scan", "selective_scan of heads, held", {X3(2, 3, 9), X3(2, 3, 1), X3(2, 1, 1), X3(2, 3, 6),
     X3(2, 3, 6), X3(2, 6, 9), X3(2, 1, 9), X3(2, 3, 9), X3(2, 1, 1)}, cover_selective_scan, ""},
    ONE_X3(copy, clone) LONG_X3(copy, clone) ONE_X3(copy, contiguous) ONE_X2(copy, copy_)
    ONE_X2(copy, cast_f32) ONE_X2(copy, cast_u8)
    ONE_X2(copy, cast_bf16) ONE_X2(copy, repeat)
    {"bernoulli", "bernoulli", {{'x', 2, {4, 33}, DOMAIN_COUNT, 0}, NOTHING, NOTHING, NOTHING},
     cover_bernoulli, ""},
    {"multinomial", "multinomial", {{'x', 2, {4, 33}, DOMAIN_POSITIVE, 0}, NOTHING, NOTHING, NOTHING},
     cover_multinomial, ""},
    ONE_X3(alias, alias) ONE_X3(permute, permute) ONE_X3(view, view) ONE_X3(slice, slice)
    ONE_X3(select, select) ONE_X3(expand, expand) ONE_X3(flip, flip)
    ONE_X3(diagonal, diagonal) ONE_X3(unfold, unfold) ONE_X3(as_strided, as_strided)
    ONE_X3(view_dtype, view_dtype)
    ONE_X3(view_as_real, view_as_real)
    MADE(fill, fill, "") MADE(fill, fill_, "") MADE(arange, arange, "") MADE(linspace, linspace, "")
    MADE(eye, eye, "")
    MADE(uniform, uniform, "") MADE(uniform, uniform_, "") MADE(normal, normal, "") MADE(normal, normal_, "")
    MADE(randint, randint, "") MADE(randperm, randperm, "")
};
/* clang-format on */
#define COVER_COUNT ((int)(sizeof covers / sizeof *covers))

/* ---- operands of a case ----------------------------------------------------------------------------- */

static ox_dtype kind_dtype(char kind, ox_dtype dtype) {
    return kind == 'i'   ? OX_I64
           : kind == 'j' ? OX_I32
           : kind == 'b' ? OX_BOOL
           : kind == 'f' ? (is_real_float(dtype) ? OX_F32 : dtype)
                         : dtype;
}

/* Operand k of a case in layout l; indices below their limit, probabilities below 1. */
TEST_UNUSED static ox_tensor *make_operand(const cover *c, int k, layout l, ox_dtype dtype) {
    const operand *o = &c->in[k];
    ox_dtype own = kind_dtype(o->kind, dtype);
    ox_tensor *base, *t = random_layout(l, o->numbers, o->ndim, o->shape, own);
    (void)base;
    for (int64_t i = 0; t && o->limit && i < ox_numel(t); i++)
        store_int(own, element(t, i), (int64_t)(test_random() >> 33) % o->limit);
    if (t && strcmp(c->row, "bernoulli") == 0 && is_real_float(own))
        for (int64_t i = 0; i < ox_numel(t); i++)
            store_real(own, element(t, i), (double)(test_random() % 9) / 8);
    return t;
}

/* Whether `dtype` is one of ",these,names,". */
TEST_UNUSED static bool lists(const char *names, ox_dtype dtype) {
    char cell[24];
    snprintf(cell, sizeof cell, ",%s,", ox_dtype_name(dtype));
    return strstr(names, cell) != NULL;
}

#endif
