/* The calls by which pair.py compares two builds of the library. Compiled once for each of them, with
 * OX_STATIC, so that both can be loaded into one process. A case: its name, and a tensor that is made
 * anew. */
#define OX_STATIC
#define OX_IMPLEMENTATION
#include "oxtorch.h"
#include "../bench.h"

#define EXPORT __attribute__((visibility("default")))

static ox_tensor *few, *x, *y, *x64, *x16, *i32, *i8, *i64, *is_more;    /* 16; 4096 each */
static ox_tensor *m, *mt, *m64, *m16, *m32i, *m8, *ones, *rows, *places, *from; /* 64 x 257, 257 x 64 */
static ox_tensor *a32, *a64, *a256, *b256, *h256, *one, *some, *weight, *heads; /* products */
static ox_tensor *weights[12];
static const ox_dtype types[12] = {OX_F32,  OX_F16,  OX_BF16, OX_Q4_0, OX_Q4_1,   OX_Q5_0,
                                   OX_Q8_0, OX_Q2_K, OX_Q4_K, OX_Q6_K, OX_IQ4_NL, OX_MXFP4};
static ox_attention_desc causal;

#define CASES(X) \
    X(add_16, ox_add(few, few)) X(add, ox_add(x, y)) X(add_i32, ox_add(i32, i32)) X(add_i8, ox_add(i8, i8)) \
    X(add_f64, ox_add(x64, x64)) X(add_f16, ox_add(x16, x16)) X(mul_i64, ox_mul(i64, i64)) \
    X(exp, ox_exp(x)) X(gelu, ox_gelu(x)) X(tanh, ox_tanh(x)) X(sin, ox_sin(x)) X(log, ox_log(y)) \
    X(pow, ox_pow(y, y)) X(silu, ox_silu(x)) X(erf, ox_erf(x)) X(exp_f64, ox_exp(x64)) \
    X(where, ox_where(is_more, x, y)) X(gt, ox_gt(x, y)) X(remainder, ox_remainder(x, y)) \
    X(transposed, ox_clone(mt)) X(transposed_i8, ox_clone(ox_t(m8))) X(transposed_f16, ox_clone(ox_t(m16))) \
    X(transposed_f64, ox_clone(ox_t(m64))) X(sliced, ox_clone(ox_slice(m, 1, 1, 255, 2))) \
    X(flipped, ox_clone(ox_slice(m, 1, OX_END, OX_END, -1))) X(add_transposed, ox_add(mt, mt)) \
    X(add_broadcast, ox_add(m, ox_select(m, 0, 0))) \
    X(to_f16, ox_cast(x, OX_F16)) X(from_f16, ox_cast(x16, OX_F32)) X(to_bf16, ox_cast(x, OX_BF16)) \
    X(to_i8, ox_cast(x, OX_I8)) X(i64_to_f32, ox_cast(i64, OX_F32)) X(i32_to_i64, ox_cast(i32, OX_I64)) \
    X(sum, ox_sum(m, OX_ALL_DIMS, false)) X(sum_down, ox_sum(m, OX_DIMS(0), false)) \
    X(sum_rows, ox_sum(m, OX_DIMS(1), false)) X(sum_i32, ox_sum(m32i, OX_ALL_DIMS, false)) \
    X(sum_f64, ox_sum(m64, OX_DIMS(1), false)) X(mean_transposed, ox_mean(mt, OX_DIMS(1), false)) \
    X(prod, ox_prod(m, OX_DIMS(1), false)) X(prod_down, ox_prod(m, OX_DIMS(0), false)) \
    X(var, ox_var(m, OX_DIMS(1), 1, false)) X(var_down, ox_var(m, OX_DIMS(0), 1, false)) \
    X(amax, ox_amax(m, OX_DIMS(1), false)) X(amax_i8, ox_amax(m8, OX_DIMS(1), false)) \
    X(argmax, ox_argmax(m, 1, false)) X(argmax_down, ox_argmax(m, 0, false)) \
    X(all, ox_all(is_more, OX_ALL_DIMS, false)) X(count, ox_count_nonzero(m, OX_DIMS(0))) \
    X(logsumexp, ox_logsumexp(m, OX_DIMS(1), false)) X(cumsum, ox_cumsum(m, 1)) \
    X(cumsum_down, ox_cumsum(m, 0)) X(softmax, ox_softmax(m, 1)) X(softmax_down, ox_softmax(m, 0)) \
    X(layer_norm, ox_layer_norm(m, 1, ones, ones, 1e-5)) X(rms_norm, ox_rms_norm(m, 1, ones, 1e-5)) \
    X(argsort, ox_argsort(m, 1, false)) X(index_select, ox_index_select(m, 0, rows)) \
    X(gather, ox_gather(m, 1, places)) X(scatter, ox_scatter(m, 1, places, from)) \
    X(scatter_add, ox_scatter_add(m, 1, places, from)) X(embedding, ox_embedding(rows, m)) \
    X(masked_select, ox_masked_select(x, is_more)) X(nonzero, ox_nonzero(is_more)) X(triu, ox_triu(m, 0)) \
    X(repeat, ox_repeat(m, OX_SHAPE(2, 2))) X(roll, ox_roll(m, OX_SHAPE(3), OX_DIMS(1))) \
    X(randn, ox_randn(OX_SHAPE(4096), OX_F32)) X(randperm, ox_randperm(4096, OX_I64)) \
    X(matmul_32, ox_matmul(a32, a32)) X(matmul_256, ox_matmul(a256, a256)) \
    X(matmul_256_transposed, ox_matmul(ox_t(a256), a256)) X(matmul_256_f64, ox_matmul(a64, a64)) \
    X(matmul_256_bf16, ox_matmul(b256, b256)) X(matmul_256_f16, ox_matmul(h256, h256)) \
    X(linear_f32, ox_linear(one, weights[0], NULL)) X(linear_f16, ox_linear(one, weights[1], NULL)) \
    X(linear_bf16, ox_linear(one, weights[2], NULL)) X(linear_q4_0, ox_linear(one, weights[3], NULL)) \
    X(linear_q4_1, ox_linear(one, weights[4], NULL)) X(linear_q5_0, ox_linear(one, weights[5], NULL)) \
    X(linear_q8_0, ox_linear(one, weights[6], NULL)) X(linear_q2_k, ox_linear(one, weights[7], NULL)) \
    X(linear_q4_k, ox_linear(one, weights[8], NULL)) X(linear_q6_k, ox_linear(one, weights[9], NULL)) \
    X(linear_iq4_nl, ox_linear(one, weights[10], NULL)) X(linear_mxfp4, ox_linear(one, weights[11], NULL)) \
    X(prompt_f16, ox_linear(some, weights[1], NULL)) X(prompt_q4_0, ox_linear(some, weights[3], NULL)) \
    X(prompt_q8_0, ox_linear(some, weights[6], NULL)) X(prompt_q4_k, ox_linear(some, weights[8], NULL)) \
    X(expand_q4_0, ox_cast(weights[3], OX_F32)) X(expand_q6_k, ox_cast(weights[9], OX_F32)) \
    X(attention, ox_scaled_dot_product_attention(heads, heads, heads, &causal))

#define X(name, made) #name,
static const char *const names[] = {CASES(X)};
#undef X
#define X(name, made) CASE_##name,
enum { CASES(X) CASE_COUNT };
#undef X

static ox_tensor *made(int index) {
    switch (index) {
#define X(name, expression) case CASE_##name: return expression;
        CASES(X)
#undef X
    default: return NULL;
    }
}

static void make_products(void) {
    a32 = ox_randn(OX_SHAPE(32, 32), OX_F32);
    a256 = ox_randn(OX_SHAPE(256, 256), OX_F32);
    a64 = ox_cast(a256, OX_F64);
    b256 = ox_cast(a256, OX_BF16);
    h256 = ox_cast(a256, OX_F16);
    one = ox_randn(OX_SHAPE(1, 1024), OX_F32);
    some = ox_randn(OX_SHAPE(64, 1024), OX_F32);
    weight = ox_randn(OX_SHAPE(256, 1024), OX_F32);
    heads = ox_randn(OX_SHAPE(4, 128, 64), OX_F32);
    causal.causal = true;
    for (int i = 0; i < 12; i++) /* types that cannot be made from numbers are left out: made is NULL */
        weights[i] = types[i] == OX_F32 ? weight : ox_cast(weight, types[i]);
    ox_error_clear();
}

/* Makes the operands. Number of cases, or -1. */
EXPORT int pair_open(int threads) {
    ox_set_threads(threads);
    ox_manual_seed(1);
    few = ox_randn(OX_SHAPE(16), OX_F32);
    x = ox_randn(OX_SHAPE(4096), OX_F32);
    y = ox_rand(OX_SHAPE(4096), OX_F32);
    x64 = ox_cast(x, OX_F64);
    x16 = ox_cast(x, OX_F16);
    i32 = ox_cast(ox_mul_number(x, 100), OX_I32);
    i8 = ox_cast(i32, OX_I8);
    i64 = ox_cast(i32, OX_I64);
    is_more = ox_gt(x, y);
    m = ox_randn(OX_SHAPE(64, 257), OX_F32);
    mt = ox_t(m);
    m64 = ox_cast(m, OX_F64);
    m16 = ox_cast(m, OX_F16);
    m32i = ox_cast(ox_mul_number(m, 100), OX_I32);
    m8 = ox_cast(m32i, OX_I8);
    ones = ox_ones(OX_SHAPE(257), OX_F32);
    rows = ox_randint(0, 64, OX_SHAPE(100), OX_I64);
    places = ox_randint(0, 257, OX_SHAPE(64, 100), OX_I64);
    from = ox_randn(OX_SHAPE(64, 100), OX_F32);
    if (ox_error()) return -1;
    make_products();
    return CASE_COUNT;
}

EXPORT const char *pair_name(int index) { return names[index]; }

/* Seconds of one call, from as many as fit into `least`; negative if this build cannot do it. */
EXPORT double pair_seconds(int index, double least) {
    double start = bench_now(), spent;
    int calls = 0;
    do {
        bool is_made = false;
        OX_SCOPE { is_made = made(index) != NULL; }
        if (!is_made) {
            ox_error_clear();
            return -1;
        }
        calls++;
        spent = bench_now() - start;
    } while (spent < least);
    return spent / calls;
}
