/* gradient_cases.h - calls of every row of ops.def that has a gradient, for those who check gradients. One
 * line a case: operands as in covers.h, whose cases and those of op_cases.h are taken too. Numbers are to be
 * drawn by draw_smooth, which keeps off kinks. */
#ifndef GRADIENT_CASES_H
#define GRADIENT_CASES_H

#include "covers.h"

/* How a case is called: `run` gives results of covers.h, `map` the result of an elementwise op. */
typedef struct gradient_case {
    const char *row, *label;
    operand in[MOST_OPERANDS];
    cover_run run;
    op_run map;
} gradient_case;

/* ---- more calls than covers.h has -------------------------------------------------------------------- */

#define GIVES_N(name, op, p, dims, keepdim) GIVES(g_##name, ox_##op(in[0], p, dims, keepdim))
GIVES_N(norm_0, norm, 0, OX_DIMS(0), false)
GIVES_N(norm_half, norm, 0.5, OX_DIMS(1), true)
GIVES_N(norm_1, norm, 1, OX_DIMS(0, 2), false)
GIVES_N(norm_15, norm, 1.5, OX_ALL_DIMS, false)
GIVES_N(norm_2, norm, 2, OX_DIMS(1), true)
GIVES_N(norm_inf, norm, INFINITY, OX_DIMS(-1), false)
GIVES_N(norm_least, norm, -INFINITY, OX_DIMS(0), true)
GIVES_N(norm_below, norm, -1.5, OX_DIMS(0), true)
GIVES(g_var_0, ox_var(in[0], OX_DIMS(0, 2), 0, true))
GIVES(g_var_all, ox_var(in[0], OX_ALL_DIMS, 1.5, false))
GIVES(g_std_all, ox_std(in[0], OX_ALL_DIMS, 1, false))
PAIR(g_max_keep, ox_max(in[0], 0, true))
PAIR(g_min_last, ox_min(in[0], -1, false))
PAIR(g_sort_down, ox_sort(in[0], 0, true))
PAIR(g_topk_least, ox_topk(in[0], 3, -1, false))
GIVES(g_cumprod_0, ox_cumprod(in[0], 0))
GIVES(g_cumsum_0, ox_cumsum(in[0], 0))
GIVES(g_log_softmax_last, ox_log_softmax(in[0], -1))
GIVES(g_layer_norm_plain, ox_layer_norm(in[0], 1, NULL, NULL, 1e-3))
GIVES(g_rms_norm_2, ox_rms_norm(in[0], 2, NULL, 1e-3))
GIVES(g_group_norm_plain, ox_group_norm(in[0], 3, NULL, NULL, 1e-3))
GIVES(g_clamp_high, ox_clamp_tensor(in[0], NULL, in[1]))
GIVES(g_acosh, ox_acosh(ox_add_number(in[0], 1)))
GIVES(g_softplus_steep, ox_softplus(in[0], 8, 10))
GIVES(g_celu_below, ox_celu(in[0], -1.5))
GIVES(g_pow_number, ox_pow_number(in[0], 3))
GIVES(g_rpow_number, ox_rpow_number(in[0], 2.5))
GIVES(g_rdiv_number, ox_rdiv_number(in[0], 2.5))
GIVES(g_masked_fill, ox_masked_fill(in[0], in[1], 2))
GIVES(g_add_self, ox_add(in[0], in[0]))
GIVES(g_mul_self, ox_mul(in[0], in[0]))
GIVES(g_glu, ox_glu(in[0], 1))

GIVES(g_reshape, ox_reshape(in[0], OX_SHAPE(5, -1, 2)))
GIVES(g_slice_3, ox_slice(in[0], 1, 1, OX_END, 3))
GIVES(g_slice_back, ox_slice(in[0], 2, 3, 0, -1))
GIVES(g_narrow, ox_narrow(in[0], 1, 2, 4))
GIVES(g_narrow_none, ox_sum(ox_narrow(in[0], 1, 2, 0), OX_ALL_DIMS, false))
GIVES(g_select_last, ox_select(in[0], 0, -1))
GIVES(g_diagonal_low, ox_diagonal(in[0], -2, 1, 2))
GIVES(g_diagonal_square, ox_diagonal(in[0], 0, 0, 1))
GIVES(g_unfold_over, ox_unfold(in[0], 1, 4, 2))
GIVES(g_unfold_last, ox_unfold(in[0], -1, 3, 1))
GIVES(g_expand_new, ox_expand(in[0], OX_SHAPE(2, 3, -1, -1)))
RUN(g_as_strided, const int64_t *s = in[0]->stride; /* windows that overlap, along dim 1 */
    out[0] = ox_as_strided(in[0], OX_SHAPE(2, 3, 4), OX_SHAPE(s[0], s[1], s[1]), in[0]->offset))
GIVES(g_squeeze, ox_squeeze(ox_unsqueeze(in[0], 1), 1))
GIVES(g_flip_1, ox_flip(in[0], OX_DIMS(1)))
GIVES(g_view_as_complex, ox_view_as_real(ox_view_as_complex(in[0])))
GIVES(g_real, ox_real(in[0]))
GIVES(g_imag, ox_imag(in[0]))
GIVES(g_copy_wide, ox_copy_(ox_empty(OX_SHAPE(3, 4, 5), in[0]->dtype), in[0])) /* broadcast */

GIVES(g_scatter_same, ox_scatter(in[0], 0, in[1], in[2])) /* several to one place */
GIVES(g_scatter_part, ox_scatter(in[0], 1, in[1], in[2])) /* more sources than indices */
GIVES(g_scatter_mean, ox_scatter_reduce(in[0], 0, in[1], in[2], OX_REDUCTION_MEAN, false))
GIVES(g_scatter_prod_alone, ox_scatter_reduce(in[0], 0, in[1], in[2], OX_REDUCTION_PROD, false))
GIVES(g_scatter_amin_alone, ox_scatter_reduce(in[0], 0, in[1], in[2], OX_REDUCTION_AMIN, false))
GIVES(g_index_reduce, ox_index_reduce(in[0], 1, in[1], in[2], OX_REDUCTION_AMAX, true))
GIVES(g_index_add_1, ox_index_add(in[0], 0, in[1], in[2], 1))
GIVES(g_triu_deep, ox_triu(in[0], -2))
RUN(g_cat_0, ox_tensor *list[3]; list[0] = in[0]; list[1] = in[1]; list[2] = in[2];
    out[0] = ox_cat(list, 3, 0))

GIVES(g_addmm_row, ox_addmm(in[0], in[1], in[2], 1, 1))
GIVES(g_addmm_alone, ox_addmm(in[0], in[1], in[2], 0, 0.5))
#define ACT(name, activation) \
    GIVES(g_linear_##name, ox_linear_act(in[0], in[1], in[2], OX_ACTIVATION_##activation))
ACT(relu, RELU) ACT(gelu, GELU) ACT(gelu_tanh, GELU_TANH) ACT(silu, SILU) ACT(sigmoid, SIGMOID)
ACT(tanh, TANH)
RUN(g_conv2d_apart, ox_conv_desc desc; memset(&desc, 0, sizeof desc); desc.stride = OX_DIMS(2, 1);
    desc.padding = OX_DIMS(1, 2); desc.dilation = OX_DIMS(1, 2); desc.groups = 2;
    out[0] = ox_conv2d(in[0], in[1], in[2], &desc))
RUN(g_conv2d_alone, ox_conv_desc desc; memset(&desc, 0, sizeof desc); desc.padding = OX_DIMS(1);
    desc.groups = 4; out[0] = ox_conv2d(in[0], in[1], NULL, &desc))

RUN(g_conv2d_same, ox_conv_desc desc; memset(&desc, 0, sizeof desc); desc.dilation = OX_DIMS(1, 3);
    desc.padding = OX_DIMS(OX_PADDING_SAME); out[0] = ox_conv2d(in[0], in[1], in[2], &desc))
RUN(g_conv3d, ox_conv_desc desc; memset(&desc, 0, sizeof desc); desc.padding = OX_DIMS(1, 0, 1);
    desc.stride = OX_DIMS(2, 1, 2); ox_tensor *x = ox_unsqueeze(in[0], -2);
    out[0] = ox_conv3d(ox_cat(&x, 1, -1), ox_unsqueeze(in[1], -2), NULL, &desc))
RUN(g_transposed, ox_conv_transpose_desc desc; memset(&desc, 0, sizeof desc); desc.stride = OX_DIMS(2, 3);
    desc.padding = OX_DIMS(1); desc.dilation = OX_DIMS(1, 2); desc.output_padding = OX_DIMS(1);
    desc.groups = 2; out[0] = ox_conv_transpose2d(in[0], in[1], in[2], &desc))
RUN(g_transposed_1d, ox_conv_transpose_desc desc; memset(&desc, 0, sizeof desc); desc.dilation = OX_DIMS(3);
    desc.output_padding = OX_DIMS(2); out[0] = ox_conv_transpose1d(in[0], in[1], NULL, &desc))
RUN(g_conv_weight, ox_conv_desc desc; memset(&desc, 0, sizeof desc); desc.stride = OX_DIMS(2, 1);
    desc.padding = OX_DIMS(1, 0); desc.groups = 2;
    out[0] = ox_conv_back_weight(in[0], in[1], OX_SHAPE(3, 2), &desc))

GIVES(g_batch_norm_plain, ox_batch_norm(in[0], NULL, NULL, NULL, NULL, true, 0.1, 1e-3))
GIVES(g_batch_norm_run, ox_batch_norm(in[0], in[1], in[2], ox_full(OX_SHAPE(4), 0.5, in[0]->dtype),
                                      ox_full(OX_SHAPE(4), 2, in[0]->dtype), false, 0.1, 1e-3))
GIVES(g_max_pool1d, ox_max_pool1d(in[0], OX_DIMS(2), OX_DIMS(1), OX_DIMS(1), OX_DIMS(1), false))
GIVES(g_max_pool_even, ox_adaptive_max_pool2d(in[0], OX_DIMS(3, 2)).values)
GIVES(g_avg_pool_even, ox_adaptive_avg_pool2d(in[0], OX_DIMS(3, 2)))
GIVES(g_avg_pool_by, ox_avg_pool3d(in[0], OX_DIMS(2), OX_DIMS(1, 2, 1), OX_DIMS(1), true, true, 5))
GIVES(g_avg_pool_back_even, ox_avg_pool_back(in[0], OX_DIMS(5, 4), OX_ALL_DIMS, OX_ALL_DIMS, OX_ALL_DIMS,
                                             false, true, 0))

GIVES(g_rope_plain, ox_rope(in[0], NULL, NULL))
RUN(g_rope_part, ox_rope_desc desc; memset(&desc, 0, sizeof desc); desc.dims = 6; desc.scale = 0.5;
    desc.magnitude = 1.5; desc.base = 100; out[0] = ox_rope(in[0], in[1], &desc))

#define ATTEND(name, ...)                                                                          \
    RUN(g_attend_##name, ox_attention_desc desc; memset(&desc, 0, sizeof desc); __VA_ARGS__;        \
        out[0] = ox_scaled_dot_product_attention(in[0], in[1], in[2], &desc))
ATTEND(plain, (void)0)
ATTEND(mask, desc.mask = in[3])
ATTEND(sinks, desc.sinks = in[4]; desc.causal = true)
ATTEND(window, desc.window = 3; desc.causal = true; desc.query_start = 2)
ATTEND(late, desc.window = 2; desc.query_start = 7; desc.causal = true) /* sees nothing in the end */
ATTEND(capped, desc.softcap = 1.5; desc.scale = 0.7; desc.mask = in[3]; desc.sinks = in[4])

/* ---- the table --------------------------------------------------------------------------------------- */

/* clang-format off */
#define G1(row, name, a) {#row, #name, {a, NOTHING, NOTHING, NOTHING, NOTHING}, cover_##name, NULL},
#define G2(row, name, a, b) {#row, #name, {a, b, NOTHING, NOTHING, NOTHING}, cover_##name, NULL},
#define G3(row, name, a, b, c) {#row, #name, {a, b, c, NOTHING, NOTHING}, cover_##name, NULL},
#define G4(row, name, a, b, c, d) {#row, #name, {a, b, c, d, NOTHING}, cover_##name, NULL},
#define G5(row, name, a, b, c, d, e) {#row, #name, {a, b, c, d, e}, cover_##name, NULL},
#define X0 {'x', 0, {0}, DOMAIN_MODEST, 0}
#define P3(a, b, c) {'x', 3, {a, b, c}, DOMAIN_POSITIVE, 0}
#define MASK2(a, b) {'b', 2, {a, b}, DOMAIN_ANY, 0}
#define SINKS(a) {'f', 1, {a}, DOMAIN_MODEST, 0}
#define PAIRS(a) {'f', 2, {a, 2}, DOMAIN_MODEST, 0}
#define COMPLEX2(a, b) {'c', 2, {a, b}, DOMAIN_MODEST, 0}

static const gradient_case gradient_cases[] = {
    G1(norm, g_norm_0, X3(3, 4, 5)) G1(norm, g_norm_half, X3(3, 4, 5)) G1(norm, g_norm_1, X3(3, 4, 5))
    G1(norm, g_norm_15, X3(3, 4, 5)) G1(norm, g_norm_2, X3(3, 4, 5)) G1(norm, g_norm_inf, X3(3, 4, 5))
    G1(norm, g_norm_least, X3(3, 4, 5)) G1(norm, g_norm_below, X3(3, 4, 5))
    G1(var, g_var_0, X3(3, 4, 5)) G1(var, g_var_all, X3(3, 4, 5)) G1(std, g_std_all, X3(3, 4, 5))
    G1(max_dim, g_max_keep, X3(3, 4, 5)) G1(min_dim, g_min_last, X3(3, 4, 5))
    G1(sort, g_sort_down, X3(3, 4, 5)) G1(topk, g_topk_least, X3(3, 4, 5))
    G1(cumprod, g_cumprod_0, X3(6, 4, 3)) G1(cumprod, cumprod, X2(2, 1)) G1(cumsum, g_cumsum_0, X3(6, 4, 3))
    G1(log_softmax, g_log_softmax_last, X3(3, 4, 5))
    G1(layer_norm, g_layer_norm_plain, X2(3, 7)) G1(rms_norm, g_rms_norm_2, X3(3, 4, 5))
    G1(group_norm, g_group_norm_plain, X4(2, 6, 3, 2))
    G2(clamp_tensor, g_clamp_high, X3(3, 4, 5), X2(4, 1))
    G1(acosh, g_acosh, P3(3, 4, 5))
    G1(softplus, g_softplus_steep, X3(3, 4, 5)) G1(celu, g_celu_below, X3(3, 4, 5))
    G1(pow, g_pow_number, X3(3, 4, 5)) G1(pow, g_rpow_number, X3(3, 4, 5))
    G1(div, g_rdiv_number, P3(3, 4, 5)) G2(where, g_masked_fill, X3(3, 4, 5), MASK2(4, 5))
    G1(add, g_add_self, X3(3, 4, 5)) G1(mul, g_mul_self, X3(3, 4, 5)) G1(mul, g_glu, X3(3, 4, 5))
    /* one number, no dims */
    G1(sum, sum_all, X0) G1(prod, prod_all, X0) G1(amax, amax_all, X0) G1(logsumexp, logsumexp_all, X0)
    G1(prod, prod, X3(3, 1, 2))
    G1(view, g_reshape, X3(3, 4, 5)) G1(slice, g_slice_3, X3(3, 8, 5)) G1(slice, g_slice_back, X3(3, 4, 5))
    G1(slice, g_narrow, X3(3, 8, 5)) G1(slice, g_narrow_none, X3(3, 8, 5))
    G1(select, g_select_last, X3(3, 4, 5))
    G1(diagonal, g_diagonal_low, X3(3, 6, 5)) G1(diagonal, g_diagonal_square, X3(4, 4, 2))
    G1(unfold, g_unfold_over, X3(3, 8, 5)) G1(unfold, g_unfold_last, X2(3, 5))
    G1(expand, g_expand_new, X3(1, 4, 5)) G1(as_strided, g_as_strided, X3(3, 6, 2))
    G1(view, g_squeeze, X2(3, 4)) G1(flip, g_flip_1, X2(3, 4))
    G1(copy, g_copy_wide, X2(4, 1))
    {"to", "g_to", {X2(3, 4), NOTHING, NOTHING, NOTHING, NOTHING}, NULL, NULL}, /* for who has two devices */
    G1(view_as_complex, g_view_as_complex, PAIRS(3))
    G1(view_as_real, g_real, COMPLEX2(3, 4)) G1(view_as_real, g_imag, COMPLEX2(3, 4))
    G3(scatter, g_scatter_same, X2(4, 7), INDEX2('i', 9, 6, 4), X2(9, 7))
    G3(scatter, g_scatter_part, X2(4, 7), INDEX2('j', 2, 1, 7), X2(4, 7))
    G3(scatter_add, scatter_add, X2(4, 7), INDEX2('i', 5, 6, 4), X2(9, 7))
    G3(scatter_add, g_scatter_mean, X2(4, 7), INDEX2('i', 9, 6, 4), X2(9, 7))
    G3(scatter_prod, g_scatter_prod_alone, X2(4, 7), INDEX2('i', 9, 6, 4), X2(9, 7))
    G3(scatter_amin, g_scatter_amin_alone, X2(4, 7), INDEX2('i', 9, 6, 4), X2(9, 7))
    G3(scatter_amax, g_index_reduce, X3(4, 7, 3), INDEX1('i', 5, 7), X3(4, 5, 3))
    G3(index_add, g_index_add_1, X1(4), INDEX1('j', 6, 4), X1(6))
    G1(triu, g_triu_deep, X3(2, 5, 4))
    G3(cat, g_cat_0, X2(2, 3), X2(1, 3), X2(4, 3))
    G2(matmul, matmul, X1(6), X1(6)) G2(matmul, matmul, X1(6), X2(6, 3)) G2(matmul, matmul, X2(3, 6), X1(6))
    G2(matmul, matmul, X1(6), X3(2, 6, 3)) G2(matmul, matmul, X3(2, 3, 6), X1(6))
    G2(matmul, matmul, X2(4, 6), X3(2, 6, 3)) G2(matmul, matmul, X4(2, 3, 4, 6), X2(6, 3))
    G2(matmul, matmul, X4(3, 1, 2, 4), X4(1, 2, 4, 3))
    G3(linear, linear, X1(7), X2(4, 7), X1(4))
    G3(linear, g_linear_relu, X3(2, 3, 7), X2(4, 7), X1(4))
    G3(linear, g_linear_gelu, X2(3, 7), X2(4, 7), X1(4))
    G2(linear, g_linear_gelu_tanh, X2(3, 7), X2(4, 7)) G3(linear, g_linear_silu, X2(3, 7), X2(4, 7), X1(4))
    G3(linear, g_linear_sigmoid, X2(3, 7), X2(4, 7), X1(4))
    G3(linear, g_linear_tanh, X2(3, 7), X2(4, 7), X1(4))
    G3(addmm, g_addmm_row, X1(6), X2(5, 7), X2(7, 6)) G3(addmm, g_addmm_alone, X2(5, 1), X2(5, 7), X2(7, 6))
    G3(conv, g_conv2d_apart, X4(2, 4, 6, 7), X4(6, 2, 3, 2), X1(6))
    G2(conv, g_conv2d_alone, X4(1, 4, 5, 5), X4(4, 1, 3, 3))
    G3(conv, g_conv2d_same, X4(2, 2, 4, 5), X4(3, 2, 2, 4), X1(3))
    G2(conv, g_conv3d, X4(1, 2, 4, 5), X4(3, 2, 3, 2))
    G3(conv_back_input, g_transposed, X4(1, 4, 3, 4), X4(4, 2, 3, 2), X1(4))
    G2(conv_back_input, g_transposed_1d, X3(2, 3, 4), X3(3, 2, 2))
    G1(batch_norm, g_batch_norm_plain, X4(2, 4, 3, 2))
    G3(batch_norm, g_batch_norm_run, X2(3, 4), X1(4), X1(4))
    G1(max_pool, g_max_pool1d, X3(2, 3, 6)) G1(max_pool, g_max_pool_even, X3(2, 5, 4))
    G1(avg_pool, g_avg_pool_even, X4(2, 2, 5, 4)) G1(avg_pool, g_avg_pool_by, X4(2, 3, 4, 3))
    G1(avg_pool_back, g_avg_pool_back_even, X4(2, 2, 3, 2))
    G2(conv_back_weight, g_conv_weight, X4(2, 4, 3, 5), X4(2, 4, 5, 6))
    G1(rope, g_rope_plain, X4(2, 3, 5, 8)) G2(rope, g_rope_part, X3(2, 5, 8), INDEX1('j', 5, 100))
    G3(attention, g_attend_plain, X4(2, 4, 5, 8), X4(2, 4, 7, 8), X4(2, 4, 7, 6))
    G3(attention, g_attend_plain, X2(5, 8), X2(7, 8), X2(7, 6))
    G4(attention, g_attend_mask, X3(4, 5, 8), X3(2, 7, 8), X3(2, 7, 6), X2(5, 7))
    G4(attention, g_attend_mask, X4(2, 4, 5, 8), X4(2, 2, 7, 8), X4(2, 2, 7, 6), X3(4, 1, 7))
    G4(attention, g_attend_mask, X4(2, 4, 5, 8), X4(2, 2, 7, 8), X4(2, 2, 7, 6), X4(2, 1, 5, 1))
    G5(attention, g_attend_sinks, X4(2, 4, 5, 8), X4(2, 2, 7, 8), X4(2, 2, 7, 6), NOTHING, SINKS(4))
    G5(attention, g_attend_sinks, X2(5, 8), X2(7, 8), X2(7, 6), NOTHING, SINKS(1))
    G3(attention, g_attend_window, X3(2, 40, 4), X3(1, 42, 4), X3(1, 42, 3))
    G3(attention, g_attend_late, X3(2, 5, 4), X3(2, 9, 4), X3(2, 9, 3))
    G5(attention, g_attend_capped, X3(4, 5, 8), X3(2, 7, 8), X3(2, 7, 6), X2(5, 7), SINKS(4))
};
/* clang-format on */
#define GRADIENT_CASE_COUNT ((int)(sizeof gradient_cases / sizeof *gradient_cases))

/* ---- numbers ----------------------------------------------------------------------------------------- */

/* A number where functions of the tables are smooth: kinks and jumps are at multiples of 0.25. */
TEST_UNUSED static double draw_smooth(domain kind) {
    for (;;) {
        double u = test_uniform(), sign = test_random() >> 40 & 1 ? -1 : 1, x = sign * 3 * u;
        if (kind == DOMAIN_POSITIVE || kind == DOMAIN_COUNT) x = 0.25 + 2.5 * u;
        if (kind == DOMAIN_UNIT) x = sign * 0.9 * u;
        if (kind == DOMAIN_NOT_ZERO) x = sign * (0.5 + 2.5 * u);
        if (fabs(4 * x - floor(4 * x + 0.5)) > 0.04) return x;
    }
}

/* ---- operands of cases ------------------------------------------------------------------------------- */

TEST_UNUSED static bool can_have_gradient(const ox_tensor *t) {
    return t && !t->is_number && (is_real_float(t->dtype) || t->dtype == OX_C64);
}

/* Weights of the loss, the same for a place in every run. */
TEST_UNUSED static double weight_at(int64_t i, int which) {
    uint64_t x = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u + (uint64_t)which * 0x2545f4914f6cdd1du;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 32;
    return (double)(x >> 11) / 4503599627370496.0 - 1;
}

TEST_UNUSED static ox_tensor *leaf_for_results(const ox_tensor *t, int which) {
    ox_tensor *g = ox_empty(ox_shape_of(t), t->dtype);
    int64_t count = g ? ox_numel(g) : 0;
    for (int64_t i = 0; i < count; i++) {
        store_real(t->dtype, element(g, i), weight_at(2 * i, which));
        if (t->dtype == OX_C64) store_real(OX_F32, element(g, i) + 4, weight_at(2 * i + 1, which));
    }
    return g;
}

TEST_UNUSED static ox_dtype operand_dtype(char kind, ox_dtype dtype) {
    return kind == 'c' ? OX_C64 : kind == 'f' ? OX_F32 : kind_dtype(kind, dtype);
}

TEST_UNUSED static void fill_smooth(ox_tensor *t, const operand *o) {
    static double values[MOST_ELEMENTS];
    char *p = (char *)values;
    int64_t count = ox_numel(t);
    size_t width = width_of(t->dtype);
    for (int64_t i = 0; i < count; i++, p += width) {
        if (o->kind == 'b')
            *p = (char)(test_random() >> 20 & 1);
        else if (o->kind == 'i' || o->kind == 'j')
            store_int(t->dtype, p, (int64_t)(test_random() >> 33) % o->limit);
        else
            store_real(t->dtype, p, draw_smooth(o->numbers));
        if (t->dtype == OX_C64) store_real(OX_F32, p + 4, draw_smooth(o->numbers));
    }
    write_elements(t, values);
}

TEST_UNUSED static ox_tensor *smooth_operand(const operand *o, layout l, ox_dtype dtype,
                                             const int64_t *shape) {
    ox_tensor *base;
    bool plain = o->kind != 'x' || o->ndim == 0;
    ox_tensor *t = new_layout(plain ? LAYOUT_PLAIN : l, o->ndim, shape, operand_dtype(o->kind, dtype), &base);
    if (!t || ox_numel(t) > MOST_ELEMENTS) return NULL;
    fill_smooth(t, o);
    return t;
}

/* ---- cases of other tables --------------------------------------------------------------------------- */

/* Rows of the domain where an elementwise op is smooth, if op_cases.h asks for more than that. */
TEST_UNUSED static domain smooth_domain(const char *row, domain given) {
    if (strcmp(row, "log1p") == 0 || strcmp(row, "pow") == 0) return DOMAIN_POSITIVE;
    if (strcmp(row, "reciprocal") == 0 || strcmp(row, "atan2") == 0) return DOMAIN_NOT_ZERO;
    return given == DOMAIN_ANY ? DOMAIN_MODEST : given;
}

/* An elementwise op over operands that broadcast. */
TEST_UNUSED static gradient_case case_of_op(const op_case *op) {
    static const operand shapes[3] = {X3(3, 4, 5), X2(4, 1), X1(5)};
    gradient_case c;
    memset(&c, 0, sizeof c);
    c.row = op->name;
    c.label = op->label;
    c.map = op->run;
    for (int k = 0; k < op->arity; k++) {
        c.in[k] = shapes[k];
        c.in[k].numbers = smooth_domain(op->name, op->domains[k]);
    }
    if (strcmp(op->name, "where") == 0) c.in[0].kind = 'b';
    return c;
}

TEST_UNUSED static gradient_case case_of_cover(const cover *from) {
    gradient_case c;
    memset(&c, 0, sizeof c);
    c.row = from->row;
    c.label = from->label;
    memcpy(c.in, from->in, sizeof c.in);
    c.run = from->run;
    return c;
}

#endif
