/* test_errors.c - what is refused, with which status and in which words: every function of ops.h, view.h
 * and create.h with NULL and with nonsense; the first error stays until it is cleared; each thread has its
 * own.
 * OX_QEMU */
#include "operands.h"
#include "oxtorch_nn.h"

#if defined(__unix__) && !defined(OX_NO_THREADS)
#include <pthread.h>
#define HAVE_PTHREADS 1
#endif

/* ---- which functions were called: compared with the headers at the end ------------------------------- */

static const char *called[1024];
static int called_count;

static bool was_called(const char *name) {
    for (int i = 0; i < called_count; i++)
        if (strcmp(called[i], name) == 0) return true;
    return false;
}

static void mark_called(const char *name) {
    if (!was_called(name) && called_count < 1024) called[called_count++] = name;
}

static ox_memory_stats before;

/* Whether an error speaks of ox_<name>, not of a function inside it. */
static bool is_named(const char *name, const char *text) {
    size_t length = strlen(name) - 3;
    return strncmp(name + 3, text, length) == 0 && text[length] == ':';
}

static void check_call(const char *name, const char *text, bool gave_error_value, ox_status want,
                       bool any_status) {
    ox_status status = ox_error();
    ox_memory_stats after = ox_memory_get_stats();
    mark_called(name);
    CHECK_MSG(gave_error_value, "%s does not give its error value", text);
    CHECK_MSG(any_status ? status != OX_OK : status == want, "%s records status %d: %s", text, (int)status,
              ox_error_text());
    CHECK_MSG(status == OX_OK || strlen(ox_error_text()) > 8, "%s: '%s' says too little", text,
              ox_error_text());
    CHECK_MSG(status == OX_OK || is_named(name, ox_error_text()), "%s: '%s' names another function", text,
              ox_error_text());
    CHECK_MSG(!strstr(ox_error_text(), "(null)"), "%s: '%s'", text, ox_error_text());
    CHECK_MSG(after.tensors == before.tensors && after.storages == before.storages &&
                  after.bytes_in_use == before.bytes_in_use,
              "%s leaves %lld tensors, %lld bytes", text, (long long)(after.tensors - before.tensors),
              (long long)after.bytes_in_use - (long long)before.bytes_in_use);
    ox_error_clear();
}

/* NULLS: called with NULL, gives its error value and records an error. REFUSES: the same with a certain
 * status. QUIET: gives its value and records nothing. */
/* clang-format off */
#define CALLED(name, expression, status, any) \
    (before = ox_memory_get_stats(), check_call("ox_" #name, #expression, (expression), status, any))
#define NULLS(name, expression) CALLED(name, expression, OX_OK, true)
#define REFUSES(name, status, expression) CALLED(name, expression, status, false)
#define QUIET(name, expression) CALLED(name, expression, OX_OK, false)

/* clang-format on */

/* ---- NULL -------------------------------------------------------------------------------------------- */

static void check_null_windows(ox_tensor *x) {
    ox_shape none = OX_SCALAR_SHAPE, two = OX_DIMS(2);
#define EACH(dims)                                                                                   \
    NULLS(conv##dims##d, !ox_conv##dims##d(NULL, x, x, NULL));                                       \
    NULLS(conv##dims##d, !ox_conv##dims##d(x, NULL, x, NULL));                                       \
    NULLS(conv_transpose##dims##d, !ox_conv_transpose##dims##d(NULL, x, x, NULL));                   \
    NULLS(conv_transpose##dims##d, !ox_conv_transpose##dims##d(x, NULL, x, NULL));                   \
    NULLS(max_pool##dims##d, !ox_max_pool##dims##d(NULL, two, none, none, none, false));             \
    NULLS(max_pool##dims##d_with_indices,                                                            \
          !ox_max_pool##dims##d_with_indices(NULL, two, none, none, none, false).values);            \
    NULLS(avg_pool##dims##d, !ox_avg_pool##dims##d(NULL, two, none, none, false, true, 0));          \
    NULLS(adaptive_max_pool##dims##d, !ox_adaptive_max_pool##dims##d(NULL, two).values);             \
    NULLS(adaptive_avg_pool##dims##d, !ox_adaptive_avg_pool##dims##d(NULL, two));
    EACH(1)
    EACH(2)
    EACH(3)
#undef EACH
    NULLS(conv_back_weight, !ox_conv_back_weight(NULL, x, two, NULL));
    NULLS(conv_back_weight, !ox_conv_back_weight(x, NULL, two, NULL));
    NULLS(avg_pool_back, !ox_avg_pool_back(NULL, two, two, none, none, false, true, 0));
    NULLS(batch_norm, !ox_batch_norm(NULL, x, x, x, x, true, 0.1, 1e-5));
    NULLS(batch_norm, !ox_batch_norm(x, x, x, NULL, x, false, 0.1, 1e-5));
}

static void check_null_elementwise(ox_tensor *x) {
#define EACH(op)               \
    NULLS(op, !ox_##op(NULL)); \
    NULLS(op##_, !ox_##op##_(NULL));
    OX_INPLACE_1(EACH)
#undef EACH
#define EACH(op)                        \
    NULLS(op, !ox_##op(NULL, x));       \
    NULLS(op, !ox_##op(x, NULL));       \
    NULLS(op, !ox_##op(NULL, NULL));    \
    NULLS(op##_, !ox_##op##_(NULL, x)); \
    NULLS(op##_, !ox_##op##_(x, NULL));
    OX_INPLACE_2(EACH)
#undef EACH
#define EACH(op) NULLS(op, !ox_##op(NULL, OX_ALL_DIMS, false));
    OX_REDUCE_DIMS(EACH)
#undef EACH
    NULLS(isnan, !ox_isnan(NULL));
    NULLS(isinf, !ox_isinf(NULL));
    NULLS(isfinite, !ox_isfinite(NULL));
    NULLS(clamp, !ox_clamp(NULL, 0, 1));
    NULLS(clamp_, !ox_clamp_(NULL, 0, 1));
    NULLS(nan_to_num, !ox_nan_to_num(NULL, 0, 0, 0));
    NULLS(nan_to_num_, !ox_nan_to_num_(NULL, 0, 0, 0));
    NULLS(leaky_relu, !ox_leaky_relu(NULL, 0.1));
    NULLS(leaky_relu_, !ox_leaky_relu_(NULL, 0.1));
    NULLS(conj, !ox_conj(NULL));
    NULLS(angle, !ox_angle(NULL));
    NULLS(real, !ox_real(NULL));
    NULLS(imag, !ox_imag(NULL));
    NULLS(elu, !ox_elu(NULL, 1));
    NULLS(elu_, !ox_elu_(NULL, 1));
    NULLS(celu, !ox_celu(NULL, 1));
    NULLS(celu_, !ox_celu_(NULL, 1));
    NULLS(softplus, !ox_softplus(NULL, 1, 20));
    NULLS(hardtanh, !ox_hardtanh(NULL, 0, 1));
    NULLS(hardtanh_, !ox_hardtanh_(NULL, 0, 1));
    NULLS(threshold, !ox_threshold(NULL, 0, 1));
    NULLS(threshold_, !ox_threshold_(NULL, 0, 1));
    NULLS(glu, !ox_glu(NULL, 0));
    NULLS(add_scaled, !ox_add_scaled(NULL, x, 2));
    NULLS(add_scaled, !ox_add_scaled(x, NULL, 2));
    NULLS(add_scaled_, !ox_add_scaled_(NULL, x, 2));
    NULLS(where, !ox_where(NULL, x, x));
    NULLS(where, !ox_where(x, NULL, x));
    NULLS(where, !ox_where(x, x, NULL));
    NULLS(lerp, !ox_lerp(NULL, x, x));
    NULLS(lerp, !ox_lerp(x, x, NULL));
    NULLS(lerp_, !ox_lerp_(NULL, x, x));
    NULLS(addcmul, !ox_addcmul(x, NULL, x, 1));
    NULLS(addcmul_, !ox_addcmul_(NULL, x, x, 1));
    NULLS(addcdiv, !ox_addcdiv(x, x, NULL, 1));
    NULLS(addcdiv_, !ox_addcdiv_(NULL, x, x, 1));
    NULLS(div_mode, !ox_div_mode(NULL, x, NULL));
    NULLS(div_mode, !ox_div_mode(x, NULL, "trunc"));
    NULLS(div_mode_, !ox_div_mode_(NULL, x, "floor"));
    NULLS(div_mode_, !ox_div_mode_(x, NULL, NULL));
    NULLS(clamp_tensor, !ox_clamp_tensor(NULL, x, x));
    NULLS(clamp_tensor_, !ox_clamp_tensor_(NULL, x, x));
    NULLS(masked_fill_scalar, !ox_masked_fill_scalar(NULL, x, ox_scalar_int(1)));
    NULLS(masked_fill_scalar_, !ox_masked_fill_scalar_(x, NULL, ox_scalar_int(1)));
    NULLS(masked_fill, !ox_masked_fill(NULL, x, 1));
    NULLS(masked_fill, !ox_masked_fill(x, NULL, 1));
    NULLS(masked_fill_, !ox_masked_fill_(NULL, x, 1));
#define EACH(op)                                      \
    NULLS(op##_number, !ox_##op##_number(NULL, 1));   \
    NULLS(op##_number_, !ox_##op##_number_(NULL, 1));
    OX_NUMBER_2(EACH)
#undef EACH
#define EACH(op) NULLS(r##op##_number, !ox_r##op##_number(NULL, 1));
    OX_NUMBER_REVERSED(EACH)
#undef EACH
}

static void check_null_rest(ox_tensor *x) {
    ox_tensor *list[2] = {NULL, NULL}, *half[2] = {x, NULL};
    ox_rope_desc rope;
    ox_attention_desc attention;
    memset(&rope, 0, sizeof rope);
    memset(&attention, 0, sizeof attention);
    NULLS(copy_, !ox_copy_(NULL, x));
    NULLS(copy_, !ox_copy_(x, NULL));
    NULLS(fill_, !ox_fill_(NULL, 1));
    NULLS(fill_scalar_, !ox_fill_scalar_(NULL, ox_scalar_int(1)));
    NULLS(zero_, !ox_zero_(NULL));
    NULLS(uniform_, !ox_uniform_(NULL, 0, 1));
    NULLS(normal_, !ox_normal_(NULL, 0, 1));
    NULLS(bernoulli_, !ox_bernoulli_(NULL, 0.5));
    NULLS(clone, !ox_clone(NULL));
    NULLS(contiguous, !ox_contiguous(NULL));
    NULLS(cast, !ox_cast(NULL, OX_F16));
#define REDUCES(op) NULLS(op, !ox_##op(NULL, OX_ALL_DIMS, false));
    REDUCES(sum)
    REDUCES(mean) REDUCES(prod) REDUCES(amax) REDUCES(amin) REDUCES(all) REDUCES(any) REDUCES(logsumexp)
        NULLS(var, !ox_var(NULL, OX_ALL_DIMS, 1, false));
    NULLS(std, !ox_std(NULL, OX_ALL_DIMS, 1, false));
    NULLS(norm, !ox_norm(NULL, 2, OX_ALL_DIMS, false));
    NULLS(count_nonzero, !ox_count_nonzero(NULL, OX_ALL_DIMS));
    NULLS(argmax, !ox_argmax(NULL, 0, false));
    NULLS(argmin, !ox_argmin(NULL, 0, false));
    NULLS(max, !ox_max(NULL, 0, false).values);
    NULLS(min, !ox_min(NULL, 0, false).indices);
    NULLS(sum_as, !ox_sum_as(NULL, OX_ALL_DIMS, false, OX_F32));
    NULLS(mean_as, !ox_mean_as(NULL, OX_ALL_DIMS, false, OX_DTYPE_NONE));
    NULLS(prod_as, !ox_prod_as(NULL, OX_ALL_DIMS, false, OX_I64));
    NULLS(cumsum_as, !ox_cumsum_as(NULL, 0, OX_F32));
    NULLS(cumprod_as, !ox_cumprod_as(NULL, 0, OX_BOOL));
    NULLS(softmax_as, !ox_softmax_as(NULL, 0, OX_F32));
    NULLS(log_softmax_as, !ox_log_softmax_as(NULL, 0, OX_DTYPE_NONE));
    NULLS(cumsum, !ox_cumsum(NULL, 0));
    NULLS(cumsum_, !ox_cumsum_(NULL, 0));
    NULLS(cumprod, !ox_cumprod(NULL, 0));
    NULLS(cumprod_, !ox_cumprod_(NULL, 0));
    NULLS(sort, !ox_sort(NULL, 0, false).values);
    NULLS(argsort, !ox_argsort(NULL, 0, false));
    NULLS(topk, !ox_topk(NULL, 1, 0, true).values);
    NULLS(cat, !ox_cat(NULL, 0, 0));
    NULLS(cat, !ox_cat(NULL, 2, 0));
    NULLS(cat, !ox_cat(list, 2, 0));
    NULLS(cat, !ox_cat(half, 2, 0));
    NULLS(cat, !ox_cat(half, -1, 0));
    NULLS(stack, !ox_stack(NULL, 2, 0));
    NULLS(stack, !ox_stack(half, 2, 0));
    NULLS(repeat, !ox_repeat(NULL, OX_SHAPE(2)));
    NULLS(tile, !ox_tile(NULL, OX_SHAPE(2)));
    NULLS(roll, !ox_roll(NULL, OX_DIMS(1), OX_DIMS(0)));
    NULLS(gather, !ox_gather(NULL, 0, x));
    NULLS(gather, !ox_gather(x, 0, NULL));
    NULLS(take_along_dim, !ox_take_along_dim(x, NULL, 0));
    NULLS(scatter, !ox_scatter(x, 0, NULL, x));
    NULLS(scatter_, !ox_scatter_(NULL, 0, x, x));
    NULLS(scatter_add, !ox_scatter_add(x, 0, x, NULL));
    NULLS(scatter_add_, !ox_scatter_add_(NULL, 0, x, x));
    NULLS(scatter_reduce, !ox_scatter_reduce(x, 0, NULL, x, OX_REDUCTION_SUM, true));
    NULLS(scatter_reduce_, !ox_scatter_reduce_(NULL, 0, x, x, OX_REDUCTION_SUM, true));
    NULLS(index_reduce, !ox_index_reduce(x, 0, x, NULL, OX_REDUCTION_SUM, true));
    NULLS(index_reduce_, !ox_index_reduce_(NULL, 0, x, x, OX_REDUCTION_SUM, true));
    NULLS(index_select, !ox_index_select(x, 0, NULL));
    NULLS(index_add, !ox_index_add(x, 0, x, NULL, 1));
    NULLS(index_add_, !ox_index_add_(NULL, 0, x, x, 1));
    NULLS(masked_select, !ox_masked_select(x, NULL));
    NULLS(masked_select, !ox_masked_select(NULL, x));
    NULLS(nonzero, !ox_nonzero(NULL));
    NULLS(embedding, !ox_embedding(NULL, x));
    NULLS(one_hot, !ox_one_hot(NULL, 3));
    NULLS(one_hot, !ox_one_hot(NULL, -1));
    NULLS(triu, !ox_triu(NULL, 0));
    NULLS(triu_, !ox_triu_(NULL, 0));
    NULLS(tril, !ox_tril(NULL, 0));
    NULLS(tril_, !ox_tril_(NULL, 0));
    NULLS(matmul, !ox_matmul(x, NULL));
    NULLS(matmul, !ox_matmul(NULL, x));
    NULLS(unpack, ox_unpack(NULL) != OX_OK);
    NULLS(prepack, ox_prepack(NULL) != OX_OK);
    NULLS(linear, !ox_linear(NULL, x, NULL));
    NULLS(linear, !ox_linear(x, NULL, NULL));
    NULLS(linear_experts, !ox_linear_experts(x, x, NULL, NULL));
    NULLS(linear_attention, !ox_linear_attention(x, x, x, NULL, x, NULL, NULL));
    NULLS(selective_scan, !ox_selective_scan(x, x, NULL, x, x, x, NULL, NULL, NULL, false, false));
    NULLS(linear_experts, !ox_linear_experts(NULL, x, x, x));
    NULLS(int_mm, !ox_int_mm(x, NULL));
    NULLS(linear_act, !ox_linear_act(x, NULL, NULL, OX_ACTIVATION_RELU));
    NULLS(linear_act, !ox_linear_act(NULL, x, NULL, OX_ACTIVATION_NONE));
    NULLS(addmm, !ox_addmm(NULL, x, x, 1, 1));
    NULLS(addmm_, !ox_addmm_(NULL, x, x, 1, 1));
    NULLS(outer, !ox_outer(NULL, x));
    NULLS(dot, !ox_dot(x, NULL));
    NULLS(einsum, !ox_einsum(NULL, &x, 1));
    NULLS(einsum, !ox_einsum("i", NULL, 1));
    NULLS(einsum, !ox_einsum("i,i", half, 2));
    NULLS(einsum, !ox_einsum("i", &x, 0));
    NULLS(softmax, !ox_softmax(NULL, 0));
    NULLS(log_softmax, !ox_log_softmax(NULL, 0));
    NULLS(layer_norm, !ox_layer_norm(NULL, 1, x, x, 1e-5));
    NULLS(rms_norm, !ox_rms_norm(NULL, 1, x, 1e-5));
    NULLS(im2col, !ox_im2col(NULL, OX_DIMS(2), OX_SCALAR_SHAPE, OX_SCALAR_SHAPE, OX_SCALAR_SHAPE));
    NULLS(col2im,
          !ox_col2im(NULL, OX_DIMS(4, 4), OX_DIMS(2), OX_SCALAR_SHAPE, OX_SCALAR_SHAPE, OX_SCALAR_SHAPE));
    NULLS(instance_norm, !ox_instance_norm(NULL, x, x, 1e-5));
    NULLS(group_norm, !ox_group_norm(NULL, 1, x, x, 1e-5));
    NULLS(rope, !ox_rope(NULL, x, &rope));
    NULLS(rope, !ox_rope(NULL, NULL, NULL));
    NULLS(scaled_dot_product_attention, !ox_scaled_dot_product_attention(NULL, x, x, &attention));
    NULLS(scaled_dot_product_attention, !ox_scaled_dot_product_attention(x, x, NULL, NULL));
    NULLS(bernoulli, !ox_bernoulli(NULL));
    NULLS(multinomial, !ox_multinomial(NULL, 1, true));
    NULLS(dropout, !ox_dropout(NULL, 0.5, true));
    NULLS(dropout_, !ox_dropout_(NULL, 0.5, true));
}

static void check_null_views_and_making(ox_tensor *x) {
    ox_tensor *out[4];
    float f[4];
    double d[4];
    int64_t i[4];
    NULLS(t, !ox_t(NULL));
    NULLS(transpose, !ox_transpose(NULL, 0, 1));
    NULLS(permute, !ox_permute(NULL, OX_DIMS(0)));
    NULLS(movedim, !ox_movedim(NULL, 0, 1));
    NULLS(view, !ox_view(NULL, OX_SHAPE(1)));
    NULLS(reshape, !ox_reshape(NULL, OX_SHAPE(1)));
    NULLS(flatten, !ox_flatten(NULL, 0, -1));
    NULLS(unflatten, !ox_unflatten(NULL, 0, OX_SHAPE(1)));
    NULLS(narrow, !ox_narrow(NULL, 0, 0, 1));
    NULLS(slice, !ox_slice(NULL, 0, 0, 1, 1));
    NULLS(select, !ox_select(NULL, 0, 0));
    NULLS(expand, !ox_expand(NULL, OX_SHAPE(1)));
    NULLS(expand_as, !ox_expand_as(NULL, x));
    NULLS(expand_as, !ox_expand_as(x, NULL));
    NULLS(flip, !ox_flip(NULL, OX_DIMS(0)));
    NULLS(diagonal, !ox_diagonal(NULL, 0, 0, 1));
    NULLS(as_strided, !ox_as_strided(NULL, OX_SHAPE(1), OX_SHAPE(1), 0));
    NULLS(squeeze, !ox_squeeze(NULL, 0));
    NULLS(squeeze_all, !ox_squeeze_all(NULL));
    NULLS(unsqueeze, !ox_unsqueeze(NULL, 0));
    NULLS(unfold, !ox_unfold(NULL, 0, 1, 1));
    NULLS(view_as_real, !ox_view_as_real(NULL));
    NULLS(view_as_complex, !ox_view_as_complex(NULL));
    NULLS(view_dtype, !ox_view_dtype(NULL, OX_F32));
    NULLS(split, ox_split(NULL, 1, 0, out, 4) == -1);
    NULLS(split_with_sizes, ox_split_with_sizes(NULL, NULL, 1, 0, out, 4) == -1);
    NULLS(chunk, ox_chunk(NULL, 1, 0, out, 4) == -1);
    NULLS(unbind, ox_unbind(NULL, 0, out, 4) == -1);
    NULLS(empty_like, !ox_empty_like(NULL));
    NULLS(zeros_like, !ox_zeros_like(NULL));
    NULLS(rand_like, !ox_rand_like(NULL));
    NULLS(randn_like, !ox_randn_like(NULL));
    NULLS(randint_like, !ox_randint_like(NULL, 0, 1));
    NULLS(ones_like, !ox_ones_like(NULL));
    NULLS(full_like, !ox_full_like(NULL, 1));
    NULLS(from_data, !ox_from_data(NULL, OX_SHAPE(4), OX_F32));
    NULLS(from_floats, !ox_from_floats(NULL, OX_SHAPE(4), OX_F32));
    NULLS(from_doubles, !ox_from_doubles(NULL, OX_SHAPE(4), OX_F32));
    NULLS(from_ints, !ox_from_ints(NULL, OX_SHAPE(4), OX_F32));
    NULLS(from_blob, !ox_from_blob(NULL, OX_SHAPE(4), NULL, OX_F32, NULL, NULL));
    NULLS(item, ox_item(NULL) == 0);
    NULLS(item_int, ox_item_int(NULL) == 0);
    NULLS(item_scalar, ox_item_scalar(NULL).dtype == OX_DTYPE_NONE);
    NULLS(to_data, ox_to_data(NULL, f, sizeof f) != OX_OK);
    NULLS(to_floats, ox_to_floats(NULL, f, 4) != OX_OK);
    NULLS(to_doubles, ox_to_doubles(NULL, d, 4) != OX_OK);
    NULLS(to_ints, ox_to_ints(NULL, i, 4) != OX_OK);
    NULLS(allclose, !ox_allclose(NULL, x, 0, 0, false));
    NULLS(allclose, !ox_allclose(x, NULL, 0, 0, false));
    NULLS(to, !ox_to(NULL, ox_cpu()));
    NULLS(to, !ox_to(x, NULL));
    QUIET(equal, !ox_equal(NULL, x) && !ox_equal(x, NULL) && !ox_equal(NULL, NULL));
    QUIET(numel,
          ox_numel(NULL) == 0 && ox_size(NULL, 0) == 0 && ox_nbytes(NULL) == 0 && !ox_is_contiguous(NULL));
    QUIET(device_of, !ox_device_of(NULL) && !ox_data(NULL) && strcmp(ox_device_name(NULL), "none") == 0);
    QUIET(retain, !ox_retain(NULL) && !ox_keep(NULL));
    ox_release(NULL);
    ox_scope_end(NULL);
    QUIET(release, true);
}

/* ---- nonsense ---------------------------------------------------------------------------------------- */

/* Shapes made without OX_SHAPE: a number of dims that no tensor has is refused before any is read. */
static void check_shapes_by_hand(void) {
    const int counts[] = {9, 40, 64, INT32_MAX, -1, -2, INT32_MIN};
    const float f[1] = {1};
    const double f64[1] = {1};
    const int64_t whole[1] = {1};
    float memory[1] = {1};
    ox_tensor *x = ox_ones(OX_SHAPE(1), OX_F32), *xx = ox_ones(OX_SHAPE(1, 1), OX_F32);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        ox_shape s, one = OX_SHAPE(1);
        for (int d = 0; d < OX_MAX_DIMS; d++) s.dim[d] = 1;
        s.ndim = counts[i];
        REFUSES(empty, OX_ERR_SHAPE, !ox_empty(s, OX_F32));
        REFUSES(zeros, OX_ERR_SHAPE, !ox_zeros(s, OX_F32));
        REFUSES(ones, OX_ERR_SHAPE, !ox_ones(s, OX_F32));
        REFUSES(full, OX_ERR_SHAPE, !ox_full(s, 1, OX_F32));
        REFUSES(rand, OX_ERR_SHAPE, !ox_rand(s, OX_F32));
        REFUSES(randn, OX_ERR_SHAPE, !ox_randn(s, OX_F32));
        REFUSES(randint, OX_ERR_SHAPE, !ox_randint(0, 5, s, OX_I64));
        REFUSES(from_data, OX_ERR_SHAPE, !ox_from_data(f, s, OX_F32));
        REFUSES(from_floats, OX_ERR_SHAPE, !ox_from_floats(f, s, OX_F32));
        REFUSES(from_doubles, OX_ERR_SHAPE, !ox_from_doubles(f64, s, OX_F32));
        REFUSES(from_ints, OX_ERR_SHAPE, !ox_from_ints(whole, s, OX_I64));
        REFUSES(from_blob, OX_ERR_SHAPE, !ox_from_blob(memory, s, NULL, OX_F32, NULL, NULL));
        REFUSES(from_blob, OX_ERR_SHAPE, !ox_from_blob(memory, s, s.dim, OX_F32, NULL, NULL));
        REFUSES(view, OX_ERR_SHAPE, !ox_view(x, s));
        REFUSES(reshape, OX_ERR_SHAPE, !ox_reshape(x, s));
        REFUSES(expand, OX_ERR_SHAPE, !ox_expand(x, s));
        REFUSES(unflatten, OX_ERR_SHAPE, !ox_unflatten(x, 0, s));
        REFUSES(unflatten, OX_ERR_SHAPE, !ox_unflatten(xx, -1, s));
        REFUSES(permute, OX_ERR_DIM, !ox_permute(x, s));
        REFUSES(as_strided, OX_ERR_SHAPE, !ox_as_strided(x, s, s, 0));
        REFUSES(as_strided, OX_ERR_SHAPE, !ox_as_strided(x, one, s, 0));
        REFUSES(repeat, OX_ERR_SHAPE, !ox_repeat(x, s));
        REFUSES(tile, OX_ERR_SHAPE, !ox_tile(x, s));
        REFUSES(roll, OX_ERR_ARG, !ox_roll(x, s, s));
        REFUSES(roll, OX_ERR_ARG, !ox_roll(x, one, s));
        REFUSES(roll, OX_ERR_ARG, !ox_roll(x, s, OX_DIMS(0)));
        REFUSES(flip, OX_ERR_DIM, !ox_flip(x, s));
        REFUSES(sum, OX_ERR_DIM, !ox_sum(x, s, false));
        REFUSES(mean, OX_ERR_DIM, !ox_mean(x, s, false));
        REFUSES(prod, OX_ERR_DIM, !ox_prod(x, s, false));
        REFUSES(amax, OX_ERR_DIM, !ox_amax(x, s, false));
        REFUSES(amin, OX_ERR_DIM, !ox_amin(x, s, false));
        REFUSES(all, OX_ERR_DIM, !ox_all(x, s, false));
        REFUSES(any, OX_ERR_DIM, !ox_any(x, s, false));
        REFUSES(var, OX_ERR_DIM, !ox_var(x, s, 1, false));
        REFUSES(std, OX_ERR_DIM, !ox_std(x, s, 1, false));
        REFUSES(logsumexp, OX_ERR_DIM, !ox_logsumexp(x, s, false));
        REFUSES(norm, OX_ERR_DIM, !ox_norm(x, 2, s, false));
        REFUSES(count_nonzero, OX_ERR_DIM, !ox_count_nonzero(x, s));
    }
}

static void check_nonsense_making(void) {
    const float f[4] = {1, 2, 3, 4};
    const int64_t strides[2] = {INT64_MAX, 1};
    const double nan = (double)NAN, inf = (double)INFINITY;
    ox_scalar none = ox_scalar_int(0);
    none.dtype = OX_DTYPE_NONE;
    ox_shape nine = OX_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1), negative = OX_SHAPE(2, -1),
             huge = OX_SHAPE(INT64_MAX, 2), wide = OX_SHAPE(INT64_C(1) << 61);
#define SHAPES(op, ...)                                        \
    REFUSES(op, OX_ERR_SHAPE, !ox_##op(nine __VA_ARGS__));     \
    REFUSES(op, OX_ERR_SHAPE, !ox_##op(negative __VA_ARGS__)); \
    REFUSES(op, OX_ERR_SHAPE, !ox_##op(huge __VA_ARGS__));     \
    REFUSES(op, OX_ERR_SHAPE, !ox_##op(wide __VA_ARGS__))
    CHECK(nine.ndim == -1 && ox_shape_from(9, &huge.dim[0]).ndim == -1 &&
          ox_shape_from(-2, NULL).ndim == -1 && ox_shape_of(NULL).ndim == -1);
    SHAPES(empty, , OX_F32);
    SHAPES(zeros, , OX_F32);
    SHAPES(ones, , OX_F32);
    SHAPES(full, , 1, OX_F32);
    SHAPES(rand, , OX_F32);
    SHAPES(randn, , OX_F32);
    check_shapes_by_hand();
    REFUSES(empty, OX_ERR_DTYPE, !ox_empty(OX_SHAPE(2), (ox_dtype)999));
    REFUSES(empty, OX_ERR_SHAPE, !ox_empty(OX_SHAPE(31), OX_Q4_0));
    REFUSES(empty, OX_ERR_SHAPE, !ox_empty(OX_SCALAR_SHAPE, OX_Q4_0));
    REFUSES(zeros, OX_ERR_DTYPE, !ox_zeros(OX_SHAPE(2), (ox_dtype)-5));
    REFUSES(zeros, OX_ERR_DTYPE, !ox_zeros(OX_SHAPE(32), OX_Q4_0));
    REFUSES(full, OX_ERR_ARG, !ox_full(OX_SHAPE(2), 256, OX_U8));
    REFUSES(full, OX_ERR_ARG, !ox_full(OX_SHAPE(2), -256, OX_U8));
    REFUSES(full, OX_ERR_ARG, !ox_full(OX_SHAPE(2), -129, OX_I8));
    REFUSES(full, OX_ERR_ARG, !ox_full(OX_SHAPE(2), 1e10, OX_I32));
    REFUSES(full, OX_ERR_ARG, !ox_full(OX_SHAPE(2), 9223372036854775808.0, OX_I64));
    REFUSES(full, OX_ERR_ARG, !ox_full(OX_SHAPE(2), nan, OX_I16));
    REFUSES(full, OX_ERR_ARG, !ox_full(OX_SHAPE(2), -inf, OX_U64));
    REFUSES(full_scalar, OX_ERR_ARG, !ox_full_scalar(OX_SHAPE(2), ox_scalar_int(256), OX_U8));
    REFUSES(full_scalar, OX_ERR_ARG, !ox_full_scalar(OX_SHAPE(2), ox_scalar_complex(1, 2), OX_F32));
    REFUSES(full_scalar, OX_ERR_SHAPE, !ox_full_scalar(OX_SHAPE(-2), ox_scalar_int(1), OX_DTYPE_NONE));
    REFUSES(from_scalar, OX_ERR_ARG, !ox_from_scalar(none));
    REFUSES(full_scalar, OX_ERR_ARG, !ox_full_scalar(OX_SHAPE(2), none, OX_F32));
    REFUSES(arange, OX_ERR_ARG, !ox_arange(0, 10, 0, OX_F32));
    REFUSES(arange, OX_ERR_ARG, !ox_arange(0, 10, -1, OX_F32));
    REFUSES(arange, OX_ERR_ARG, !ox_arange(0, nan, 1, OX_F32));
    REFUSES(arange, OX_ERR_ARG, !ox_arange(0, inf, 1, OX_F32));
    REFUSES(arange, OX_ERR_DTYPE, !ox_arange(0, 10, 1, OX_C64));
    REFUSES(arange, OX_ERR_DTYPE, !ox_arange(0, 10, 1, (ox_dtype)77));
    REFUSES(linspace, OX_ERR_SHAPE, !ox_linspace(0, 1, -1, OX_F32));
    REFUSES(linspace, OX_ERR_DTYPE, !ox_linspace(0, 1, 3, OX_C64));
    REFUSES(eye, OX_ERR_SHAPE, !ox_eye(-1, 2, OX_F32));
    REFUSES(eye, OX_ERR_SHAPE, !ox_eye(INT64_MAX, INT64_MAX, OX_F32));
    REFUSES(randint, OX_ERR_ARG, !ox_randint(3, 3, OX_SHAPE(2), OX_I64));
    REFUSES(randint, OX_ERR_SHAPE, !ox_randint(0, 3, negative, OX_I64));
    REFUSES(randint, OX_ERR_DTYPE, !ox_randint(0, 3, OX_SHAPE(2), OX_C64));
    REFUSES(rand, OX_ERR_DTYPE, !ox_rand(OX_SHAPE(2), OX_I32));
    REFUSES(randn, OX_ERR_DTYPE, !ox_randn(OX_SHAPE(2), OX_BOOL));
    REFUSES(randperm, OX_ERR_SHAPE, !ox_randperm(-1, OX_I64));
    REFUSES(randperm, OX_ERR_DTYPE, !ox_randperm(4, OX_BOOL));
    REFUSES(from_data, OX_ERR_SHAPE, !ox_from_data(f, negative, OX_F32));
    REFUSES(from_data, OX_ERR_DTYPE, !ox_from_data(f, OX_SHAPE(4), (ox_dtype)1000));
    REFUSES(from_floats, OX_ERR_SHAPE, !ox_from_floats(f, nine, OX_F16));
    REFUSES(from_floats, OX_ERR_UNSUPPORTED, !ox_from_floats(f, OX_SHAPE(0, 32), OX_IQ4_NL));
    REFUSES(from_blob, OX_ERR_SHAPE, !ox_from_blob((void *)(uintptr_t)f, negative, NULL, OX_F32, NULL, NULL));
    REFUSES(from_blob, OX_ERR_SHAPE,
            !ox_from_blob((void *)(uintptr_t)f, OX_SHAPE(2, 2), strides, OX_F32, NULL, NULL));
    REFUSES(from_blob, OX_ERR_DTYPE,
            !ox_from_blob((void *)(uintptr_t)f, OX_SHAPE(2, 32), strides, OX_Q4_0, NULL, NULL));
    QUIET(number, true);
    QUIET(integer, true);
    QUIET(manual_seed, true);
}

static void check_nonsense_numbers_out(void) {
    ox_tensor *small = ox_ones(OX_SHAPE(3), OX_I8), *mask = ox_ones(OX_SHAPE(3), OX_BOOL);
    ox_tensor *x = ox_ones(OX_SHAPE(2, 2), OX_F32), *none = ox_narrow(x, 0, 0, 0),
              *wide = ox_ones(OX_SHAPE(2, 32), OX_F32);
    float f[5];
    double d[4];
    int64_t i[4];
    REFUSES(item, OX_ERR_SHAPE, ox_item(x) == 0);
    REFUSES(item_int, OX_ERR_SHAPE, ox_item_int(x) == 0);
    REFUSES(item_scalar, OX_ERR_SHAPE, ox_item_scalar(x).dtype == OX_DTYPE_NONE);
    REFUSES(item, OX_ERR_SHAPE, ox_item(none) == 0);
    REFUSES(full_like, OX_ERR_ARG, !ox_full_like(small, 128));
    REFUSES(fill_, OX_ERR_ARG, !ox_fill_(small, -128.5 - 1));
    REFUSES(masked_fill_, OX_ERR_ARG, !ox_masked_fill_(small, mask, 1000));
    REFUSES(to_floats, OX_ERR_SHAPE, ox_to_floats(x, f, 5) == OX_ERR_SHAPE);
    REFUSES(to_floats, OX_ERR_SHAPE, ox_to_floats(x, f, -1) == OX_ERR_SHAPE);
    REFUSES(to_doubles, OX_ERR_SHAPE, ox_to_doubles(x, d, 3) == OX_ERR_SHAPE);
    REFUSES(to_ints, OX_ERR_SHAPE, ox_to_ints(x, i, 0) == OX_ERR_SHAPE);
    REFUSES(to_data, OX_ERR_SHAPE, ox_to_data(x, f, 15) == OX_ERR_SHAPE);
    REFUSES(cast, OX_ERR_DTYPE, !ox_cast(x, OX_DTYPE_NONE));
    REFUSES(cast, OX_ERR_DTYPE, !ox_cast(x, (ox_dtype)12345));
    REFUSES(cast, OX_ERR_UNSUPPORTED, !ox_cast(wide, OX_IQ4_NL));
    REFUSES(cast, OX_ERR_SHAPE, !ox_cast(x, OX_Q8_0));
    REFUSES(allclose, OX_ERR_SHAPE, !ox_allclose(x, wide, 0, 0, false));
}

static void check_nonsense_ops(void) {
    ox_tensor *x = ox_ones(OX_SHAPE(2, 3), OX_F32), *i = ox_zeros(OX_SHAPE(2, 3), OX_I64),
              *b = ox_ones(OX_SHAPE(2, 3), OX_BOOL);
    ox_tensor *c = ox_ones(OX_SHAPE(2, 3), OX_C64), *row = ox_ones(OX_SHAPE(3), OX_F32),
              *none = ox_ones(OX_SHAPE(0, 3), OX_F32);
    ox_tensor *line = ox_zeros(OX_SHAPE(2), OX_I64), *seven = ox_full(OX_SHAPE(2, 3), 7, OX_I64),
              *minus = ox_full(OX_SHAPE(2, 3), -1, OX_I64);
    ox_tensor *f64 = ox_ones(OX_SHAPE(2, 3), OX_F64), *zero = ox_ones(OX_SCALAR_SHAPE, OX_F32),
              *u8 = ox_ones(OX_SHAPE(2, 3), OX_U8);
    ox_tensor *sevens = ox_select(seven, 1, 0), *b22 = ox_narrow(b, 1, 0, 2);
    ox_tensor *two[2] = {x, row}, *mixed[2] = {x, f64}, *dots[2] = {zero, zero};
    const ox_shape nine = OX_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1);
    REFUSES(sum, OX_ERR_DIM, !ox_sum(x, OX_DIMS(2), false));
    REFUSES(sum, OX_ERR_DIM, !ox_sum(x, OX_DIMS(0, -2), false));
    REFUSES(sum, OX_ERR_DIM, !ox_sum(x, nine, false));
    REFUSES(sum, OX_ERR_DIM, !ox_sum(x, OX_DIMS(INT64_MIN), false));
    REFUSES(mean, OX_ERR_DTYPE, !ox_mean(i, OX_ALL_DIMS, false));
    REFUSES(var, OX_ERR_DTYPE, !ox_var(i, OX_ALL_DIMS, 1, false));
    REFUSES(amax, OX_ERR_DTYPE, !ox_amax(c, OX_ALL_DIMS, false));
    REFUSES(amax, OX_ERR_SHAPE, !ox_amax(none, OX_ALL_DIMS, false));
    REFUSES(amin, OX_ERR_SHAPE, !ox_amin(none, OX_DIMS(0), true));
    REFUSES(argmax, OX_ERR_SHAPE, !ox_argmax(none, OX_FLATTENED, false));
    REFUSES(argmin, OX_ERR_DIM, !ox_argmin(x, 2, false));
    REFUSES(max, OX_ERR_SHAPE, !ox_max(none, 0, false).values);
    REFUSES(min, OX_ERR_DIM, !ox_min(x, -3, false).values);
    REFUSES(var, OX_ERR_DTYPE, !ox_var(i, OX_ALL_DIMS, 1, false));
    REFUSES(std, OX_ERR_DTYPE, !ox_std(b, OX_ALL_DIMS, 1, false));
    REFUSES(norm, OX_ERR_DTYPE, !ox_norm(i, 2, OX_ALL_DIMS, false));
    REFUSES(cumsum, OX_ERR_DIM, !ox_cumsum(x, 2));
    REFUSES(sort, OX_ERR_DIM, !ox_sort(x, 5, false).values);
    REFUSES(sort, OX_ERR_DTYPE, !ox_sort(c, 0, false).values);
    REFUSES(argsort, OX_ERR_DIM, !ox_argsort(x, 2, true));
    REFUSES(topk, OX_ERR_ARG, !ox_topk(x, 4, 1, true).values);
    REFUSES(topk, OX_ERR_ARG, !ox_topk(x, -1, 1, true).values);
    REFUSES(cat, OX_ERR_SHAPE, !ox_cat(two, 2, 0));
    REFUSES(cat, OX_ERR_DIM, !ox_cat(two, 2, 2));
    REFUSES(cat, OX_ERR_SHAPE, !ox_cat(dots, 2, 0));
    REFUSES(stack, OX_ERR_SHAPE, !ox_stack(two, 2, 0));
    REFUSES(stack, OX_ERR_DIM, !ox_stack(mixed, 2, 3));
    REFUSES(repeat, OX_ERR_SHAPE, !ox_repeat(x, OX_SHAPE(2)));
    REFUSES(repeat, OX_ERR_SHAPE, !ox_repeat(x, OX_SHAPE(2, -1)));
    REFUSES(repeat, OX_ERR_SHAPE, !ox_repeat(x, OX_SHAPE(INT64_MAX, INT64_MAX)));
    REFUSES(tile, OX_ERR_SHAPE, !ox_tile(x, OX_SHAPE(-1)));
    REFUSES(tile, OX_ERR_SHAPE, !ox_tile(x, nine));
    REFUSES(roll, OX_ERR_ARG, !ox_roll(x, OX_DIMS(1, 2), OX_DIMS(0)));
    REFUSES(roll, OX_ERR_DIM, !ox_roll(x, OX_DIMS(1), OX_DIMS(2)));
    REFUSES(gather, OX_ERR_INDEX, !ox_gather(x, 0, seven));
    REFUSES(gather, OX_ERR_INDEX, !ox_gather(x, 1, minus));
    REFUSES(gather, OX_ERR_DTYPE, !ox_gather(x, 0, x));
    REFUSES(gather, OX_ERR_DIM, !ox_gather(x, 2, i));
    REFUSES(gather, OX_ERR_SHAPE, !ox_gather(x, 0, line));
    REFUSES(take_along_dim, OX_ERR_SHAPE, !ox_take_along_dim(x, line, 0));
    REFUSES(take_along_dim, OX_ERR_INDEX, !ox_take_along_dim(x, seven, 1));
    REFUSES(scatter, OX_ERR_INDEX, !ox_scatter(x, 0, seven, x));
    REFUSES(scatter, OX_ERR_DTYPE, !ox_scatter(x, 0, i, f64));
    REFUSES(scatter, OX_ERR_SHAPE, !ox_scatter(x, 0, i, row));
    REFUSES(scatter_, OX_ERR_INDEX, !ox_scatter_(x, 1, minus, x));
    REFUSES(set_default_dtype, OX_ERR_DTYPE, ox_set_default_dtype(OX_I64) != OX_OK);
    REFUSES(scatter_reduce, OX_ERR_SHAPE, !ox_scatter_reduce(x, 0, i, row, OX_REDUCTION_PROD, true));
    REFUSES(scatter_add, OX_ERR_INDEX, !ox_scatter_add(x, 0, seven, x));
    REFUSES(scatter_add_, OX_ERR_DTYPE, !ox_scatter_add_(x, 0, b, x));
    REFUSES(index_select, OX_ERR_SHAPE, !ox_index_select(x, 0, i));
    REFUSES(index_select, OX_ERR_INDEX, !ox_index_select(x, 0, sevens));
    REFUSES(index_add, OX_ERR_SHAPE, !ox_index_add(x, 0, line, row, 1));
    REFUSES(index_add_, OX_ERR_DTYPE, !ox_index_add_(x, 0, line, f64, 1));
    REFUSES(masked_select, OX_ERR_DTYPE, !ox_masked_select(x, i));
    REFUSES(masked_select, OX_ERR_SHAPE, !ox_masked_select(x, b22));
    REFUSES(embedding, OX_ERR_SHAPE, !ox_embedding(i, row));
    REFUSES(embedding, OX_ERR_INDEX, !ox_embedding(seven, x));
    REFUSES(embedding, OX_ERR_DTYPE, !ox_embedding(b, x));
    REFUSES(one_hot, OX_ERR_INDEX, !ox_one_hot(seven, 7));
    REFUSES(one_hot, OX_ERR_ARG, !ox_one_hot(i, 0));
    REFUSES(one_hot, OX_ERR_DTYPE, !ox_one_hot(x, 3));
    REFUSES(triu, OX_ERR_SHAPE, !ox_triu(row, 0));
    REFUSES(tril_, OX_ERR_SHAPE, !ox_tril_(row, 0));
    REFUSES(nan_to_num, OX_ERR_DTYPE, !ox_nan_to_num(c, 0, 0, 0));
    REFUSES(bitwise_and, OX_ERR_DTYPE, !ox_bitwise_and(i, x));
    REFUSES(bitwise_left_shift, OX_ERR_DTYPE, !ox_bitwise_left_shift(b, b));
    REFUSES(lt, OX_ERR_DTYPE, !ox_lt(c, c));
    REFUSES(where, OX_ERR_DTYPE, !ox_where(u8, x, x));
    REFUSES(masked_fill, OX_ERR_DTYPE, !ox_masked_fill(x, u8, 1));
    REFUSES(bernoulli, OX_ERR_DTYPE, !ox_bernoulli(i));
    REFUSES(multinomial, OX_ERR_ARG, !ox_multinomial(row, 4, false));
    REFUSES(multinomial, OX_ERR_ARG, !ox_multinomial(row, 0, true));
    REFUSES(multinomial, OX_ERR_SHAPE, !ox_multinomial(zero, 1, true));
    REFUSES(dropout, OX_ERR_ARG, !ox_dropout(x, 1.5, true));
    REFUSES(dropout_, OX_ERR_ARG, !ox_dropout_(x, 1.5, true));
    REFUSES(dropout, OX_ERR_ARG, !ox_dropout(x, (double)NAN, true));
    REFUSES(dropout, OX_ERR_DTYPE, !ox_dropout(i, 0.5, true));
    REFUSES(normal_, OX_ERR_ARG, !ox_normal_(x, 0, -1));
    REFUSES(bernoulli_, OX_ERR_ARG, !ox_bernoulli_(x, -0.5));
    REFUSES(normal_, OX_ERR_DTYPE, !ox_normal_(i, 0, 1));
    REFUSES(uniform_, OX_ERR_DTYPE, !ox_uniform_(b, 0, 1));
    REFUSES(uniform_, OX_ERR_ARG, !ox_uniform_(x, 0, INFINITY));
}

static void check_nonsense_products(void) {
    ox_tensor *x = ox_ones(OX_SHAPE(2, 3), OX_F32), *y = ox_ones(OX_SHAPE(4, 5), OX_F32),
              *i = ox_ones(OX_SHAPE(3, 2), OX_I64);
    ox_tensor *c = ox_ones(OX_SHAPE(3, 3), OX_C64), *v = ox_ones(OX_SHAPE(3), OX_F32),
              *zero = ox_ones(OX_SCALAR_SHAPE, OX_F32);
    ox_tensor *q = ox_empty(OX_SHAPE(3, 32), OX_Q4_0), *b = ox_ones(OX_SHAPE(3, 3), OX_BOOL),
              *w = ox_ones(OX_SHAPE(5, 3), OX_F32);
    ox_tensor *x4 = ox_ones(OX_SHAPE(1, 2, 4, 8), OX_F32), *k4 = ox_ones(OX_SHAPE(1, 2, 6, 8), OX_F32),
              *odd = ox_ones(OX_SHAPE(1, 3, 6, 8), OX_F32);
    ox_rope_desc rope;
    ox_attention_desc attention;
    memset(&rope, 0, sizeof rope);
    memset(&attention, 0, sizeof attention);
    REFUSES(matmul, OX_ERR_SHAPE, !ox_matmul(x, y));
    REFUSES(matmul, OX_ERR_SHAPE, !ox_matmul(x, zero));
    REFUSES(matmul, OX_ERR_DTYPE, !ox_matmul(x, i));
    REFUSES(matmul, OX_ERR_DTYPE, !ox_matmul(c, v));
    REFUSES(matmul, OX_ERR_DTYPE, !ox_matmul(b, b));
    REFUSES(matmul, OX_ERR_DTYPE, !ox_matmul(q, q));
    REFUSES(linear, OX_ERR_SHAPE, !ox_linear(x, y, NULL));
    REFUSES(linear, OX_ERR_SHAPE, !ox_linear(x, v, NULL));
    REFUSES(linear, OX_ERR_SHAPE, !ox_linear(x, w, v));
    REFUSES(linear_experts, OX_ERR_SHAPE, !ox_linear_experts(x, w, i, NULL));
    REFUSES(linear_attention, OX_ERR_SHAPE, !ox_linear_attention(x, x, x, x, x, NULL, NULL));
    REFUSES(selective_scan, OX_ERR_SHAPE,
            !ox_selective_scan(x, x, x, x, x, x, NULL, NULL, NULL, false, false));
    REFUSES(linear_act, OX_ERR_ARG, !ox_linear_act(x, w, NULL, (ox_activation)7));
    REFUSES(linear_act, OX_ERR_ARG, !ox_linear_act(x, w, NULL, (ox_activation)-1));
    REFUSES(addmm, OX_ERR_SHAPE, !ox_addmm(y, x, y, 1, 1));
    REFUSES(addmm_, OX_ERR_SHAPE, !ox_addmm_(y, x, y, 1, 1));
    REFUSES(addmm, OX_ERR_SHAPE, !ox_addmm(x, v, v, 1, 1));
    REFUSES(outer, OX_ERR_SHAPE, !ox_outer(x, v));
    REFUSES(dot, OX_ERR_SHAPE, !ox_dot(x, x));
    REFUSES(einsum, OX_ERR_ARG, !ox_einsum("ij,jk", &x, 1));
    REFUSES(einsum, OX_ERR_ARG, !ox_einsum("i", &x, 1));
    REFUSES(softmax, OX_ERR_DIM, !ox_softmax(x, 2));
    REFUSES(softmax, OX_ERR_DTYPE, !ox_softmax(i, 0));
    REFUSES(log_softmax, OX_ERR_DIM, !ox_log_softmax(x, -3));
    REFUSES(layer_norm, OX_ERR_DIM, !ox_layer_norm(x, 3, NULL, NULL, 1e-5));
    REFUSES(layer_norm, OX_ERR_DIM, !ox_layer_norm(x, 0, NULL, NULL, 1e-5));
    REFUSES(layer_norm, OX_ERR_SHAPE, !ox_layer_norm(x, 1, y, NULL, 1e-5));
    REFUSES(rms_norm, OX_ERR_SHAPE, !ox_rms_norm(x, 2, v, 1e-5));
    REFUSES(rms_norm, OX_ERR_DTYPE, !ox_rms_norm(i, 1, NULL, 1e-5));
    REFUSES(group_norm, OX_ERR_SHAPE, !ox_group_norm(x, 2, NULL, NULL, 1e-5));
    REFUSES(group_norm, OX_ERR_SHAPE, !ox_group_norm(x, 0, NULL, NULL, 1e-5));
    REFUSES(instance_norm, OX_ERR_SHAPE, !ox_instance_norm(v, NULL, NULL, 1e-5));
    REFUSES(instance_norm, OX_ERR_SHAPE, !ox_instance_norm(x, y, NULL, 1e-5));
    REFUSES(group_norm, OX_ERR_SHAPE, !ox_group_norm(v, 1, NULL, NULL, 1e-5));
    REFUSES(group_norm, OX_ERR_SHAPE, !ox_group_norm(x, 1, y, NULL, 1e-5));
    REFUSES(rope, OX_ERR_ARG, !ox_rope(x, NULL, NULL));
    REFUSES(rope, OX_ERR_SHAPE, !ox_rope(v, NULL, NULL));
    REFUSES(rope, OX_ERR_DTYPE, !ox_rope(i, NULL, NULL));
    REFUSES(rope, OX_ERR_DTYPE, !ox_rope(x4, v, NULL));
    rope.dims = 10;
    REFUSES(rope, OX_ERR_ARG, !ox_rope(x4, NULL, &rope));
    rope.dims = -2;
    REFUSES(rope, OX_ERR_ARG, !ox_rope(x4, NULL, &rope));
    rope.dims = 8;
    rope.factors = v;
    REFUSES(rope, OX_ERR_SHAPE, !ox_rope(x4, NULL, &rope));
    REFUSES(scaled_dot_product_attention, OX_ERR_SHAPE, !ox_scaled_dot_product_attention(x4, k4, odd, NULL));
    REFUSES(scaled_dot_product_attention, OX_ERR_SHAPE, !ox_scaled_dot_product_attention(x4, x, x, NULL));
    REFUSES(scaled_dot_product_attention, OX_ERR_SHAPE, !ox_scaled_dot_product_attention(v, v, v, NULL));
    attention.mask = y;
    REFUSES(scaled_dot_product_attention, OX_ERR_SHAPE,
            !ox_scaled_dot_product_attention(x4, k4, k4, &attention));
    attention.mask = NULL;
    attention.softcap = -1;
    REFUSES(scaled_dot_product_attention, OX_ERR_ARG,
            !ox_scaled_dot_product_attention(x4, k4, k4, &attention));
    attention.softcap = 0;
    attention.window = -1;
    REFUSES(scaled_dot_product_attention, OX_ERR_ARG,
            !ox_scaled_dot_product_attention(x4, k4, k4, &attention));
}

/* ---- numbers that torch refuses too ------------------------------------------------------------------ */

static void check_refused_numbers(void) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(3), OX_F32), *i = ox_ones(OX_SHAPE(3), OX_I32);
        ox_tensor *mask = ox_ones(OX_SHAPE(3), OX_BOOL), *none = ox_zeros(OX_SHAPE(0, 3), OX_F32);
        REFUSES(celu, OX_ERR_ARG, !ox_celu(x, 0));
        REFUSES(celu_, OX_ERR_ARG, !ox_celu_(x, -0.0));
        REFUSES(hardtanh, OX_ERR_ARG, !ox_hardtanh(x, 1, -1));
        REFUSES(hardtanh_, OX_ERR_ARG, !ox_hardtanh_(i, 1, -1));
        REFUSES(threshold, OX_ERR_ARG, !ox_threshold(i, 0, 1e12));
        REFUSES(clamp, OX_ERR_DTYPE, !ox_clamp(i, 0.5, 2));
        REFUSES(clamp_, OX_ERR_DTYPE, !ox_clamp_(i, 0, 1.5));
        REFUSES(masked_fill, OX_ERR_DTYPE, !ox_masked_fill(i, mask, 0.5));
        REFUSES(masked_fill, OX_ERR_DTYPE, !ox_masked_fill(mask, mask, 0.5));
        REFUSES(masked_fill_, OX_ERR_ARG, !ox_masked_fill_(i, mask, 1e12));
        CHECK(ox_item(ox_select(ox_hardtanh(x, 2, 2), 0, 0)) == 2);
        CHECK(ox_item(ox_select(ox_clamp(x, 3, 2), 0, 0)) == 2);
        static const double without_identity[] = {(double)INFINITY, -(double)INFINITY, -1, -0.5};
        static const double with_identity[] = {0, 0.5, 1, 2, 3};
        for (int p = 0; p < 4; p++) {
            REFUSES(norm, OX_ERR_SHAPE, !ox_norm(none, without_identity[p], OX_DIMS(0), false));
            REFUSES(norm, OX_ERR_SHAPE, !ox_norm(none, without_identity[p], OX_ALL_DIMS, false));
            CHECK(ox_numel(ox_norm(none, without_identity[p], OX_DIMS(1), true)) == 0);
        }
        for (int p = 0; p < 5; p++) CHECK(ox_item(ox_norm(none, with_identity[p], OX_ALL_DIMS, false)) == 0);
        CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    }
}

/* ---- functions that work through others: errors are told in their own name ---------------------------- */

static void check_names_of_composed(void) {
    OX_SCOPE {
        const ox_shape wide = OX_SHAPE((int64_t)(SIZE_MAX / 8)),
                       huge = OX_SHAPE((int64_t)1 << 40, (int64_t)1 << 40);
        const float number = 1;
        const int64_t integer = 1;
        int64_t integers[128];
        ox_tensor *one = ox_ones(OX_SHAPE(1), OX_U8), *x = ox_ones(OX_SHAPE(2, 3), OX_F32);
        ox_tensor *long_row = ox_expand(one, wide), *column = ox_unsqueeze(long_row, 1);
        ox_tensor *i = ox_ones(OX_SHAPE(2, 3), OX_I32), *mask = ox_ones(OX_SHAPE(4), OX_BOOL);
        ox_tensor *q = ox_empty(OX_SHAPE(2, 64), OX_Q8_0);
        ox_tensor *list[2] = {q, q}, *parts[8], *none = ox_zeros(OX_SHAPE(0), OX_I64);
        ox_tensor *turned = ox_t(q);
        REFUSES(zeros, OX_ERR_SHAPE, !ox_zeros(huge, OX_F32));
        REFUSES(ones, OX_ERR_DTYPE, !ox_ones(OX_SHAPE(32), OX_Q8_0));
        REFUSES(full, OX_ERR_ARG, !ox_full(OX_SHAPE(2), 300, OX_U8));
        REFUSES(full_like, OX_ERR_ARG, !ox_full_like(i, 1e20));
        REFUSES(zeros_like, OX_ERR_DTYPE, !ox_zeros_like(q));
        REFUSES(rand_like, OX_ERR_DTYPE, !ox_rand_like(q));
        REFUSES(randn_like, OX_ERR_DTYPE, !ox_randn_like(q));
        REFUSES(randint_like, OX_ERR_DTYPE, !ox_randint_like(q, 0, 1));
        REFUSES(ones_like, OX_ERR_DTYPE, !ox_ones_like(q));
        REFUSES(empty, OX_ERR_SHAPE, !ox_empty(huge, OX_F32));
        REFUSES(rand, OX_ERR_DTYPE, !ox_rand(OX_SHAPE(2), OX_I32));
        REFUSES(randn, OX_ERR_SHAPE, !ox_randn(huge, OX_F32));
        REFUSES(from_data, OX_ERR_SHAPE, !ox_from_data(&number, huge, OX_F32));
        REFUSES(from_floats, OX_ERR_SHAPE, !ox_from_floats(&number, huge, OX_F32));
        REFUSES(from_ints, OX_ERR_DTYPE, !ox_from_ints(&integer, OX_SHAPE(0), OX_Q8_0));
        REFUSES(fill_, OX_ERR_ARG, !ox_fill_(i, 1e20));
        REFUSES(zero_, OX_ERR_DTYPE, !ox_zero_(q));
        REFUSES(uniform_, OX_ERR_DTYPE, !ox_uniform_(i, 0, 1));
        REFUSES(narrow, OX_ERR_DTYPE, !ox_narrow(q, 1, 0, 16));
        REFUSES(chunk, OX_ERR_DTYPE, ox_chunk(q, 64, 1, parts, 8) == -1);
        REFUSES(unbind, OX_ERR_DTYPE, ox_unbind(q, 1, parts, 8) == -1);
        REFUSES(flatten, OX_ERR_SHAPE, !ox_flatten(turned, 0, -1));
        REFUSES(expand_as, OX_ERR_SHAPE, !ox_expand_as(x, mask));
        REFUSES(cast, OX_ERR_SHAPE, !ox_cast(long_row, OX_F32));
        REFUSES(cast, OX_ERR_SHAPE, !ox_cast(x, OX_Q8_0));
        REFUSES(to_ints, OX_ERR_DTYPE, ox_to_ints(q, integers, 128) != OX_OK);
        REFUSES(allclose, OX_ERR_SHAPE, !ox_allclose(x, mask, 0, 0, false));
        REFUSES(stack, OX_ERR_DTYPE, !ox_stack(list, 2, 2));
        REFUSES(repeat, OX_ERR_SHAPE, !ox_repeat(x, OX_SHAPE((int64_t)1 << 60, 1)));
        REFUSES(tile, OX_ERR_SHAPE, !ox_tile(x, OX_SHAPE((int64_t)1 << 60)));
        REFUSES(take_along_dim, OX_ERR_DTYPE, !ox_take_along_dim(x, x, 1));
        REFUSES(masked_select, OX_ERR_SHAPE, !ox_masked_select(x, mask));
        REFUSES(one_hot, OX_ERR_SHAPE, !ox_one_hot(none, -1));
        REFUSES(add, OX_ERR_SHAPE, !ox_add(long_row, column));
        REFUSES(add_, OX_ERR_SHAPE, !ox_add_(x, mask));
        REFUSES(add_number, OX_ERR_SHAPE, !ox_add_number(long_row, 1));
        REFUSES(add_scaled, OX_ERR_SHAPE, !ox_add_scaled(x, mask, 2));
        REFUSES(pow_number, OX_ERR_DTYPE, !ox_pow_number(q, 2));
        REFUSES(masked_fill, OX_ERR_SHAPE, !ox_masked_fill(x, mask, 1));
        REFUSES(masked_fill_, OX_ERR_SHAPE, !ox_masked_fill_(x, mask, 1));
        REFUSES(max, OX_ERR_SHAPE, !ox_max(none, 0, false).values);
        REFUSES(argsort, OX_ERR_DIM, !ox_argsort(x, 2, false));
        REFUSES(linear_act, OX_ERR_DTYPE, !ox_linear_act(x, i, x, OX_ACTIVATION_RELU));
        REFUSES(outer, OX_ERR_SHAPE, !ox_outer(long_row, long_row));
        list[0] = list[1] = long_row;
        REFUSES(einsum, OX_ERR_SHAPE, !ox_einsum("i,j->ij", list, 2));
    }
}

/* ---- the rule of the first error --------------------------------------------------------------------- */

static int logged;
static void count_log(void *user, ox_log_level level, const char *text) {
    (void)user;
    logged += level == OX_LOG_ERROR && text[0] != 0;
}

/* ---- the reason ---------------------------------------------------------------------------------------- */

static void says(const ox_tensor *result, const char *words) {
    CHECK_MSG(!result && strcmp(ox_error_text(), words) == 0, "\"%s\", not \"%s\"", ox_error_text(), words);
    ox_error_clear();
}

/* What does not fit, and why, in words. */
static void check_reasons(void) {
    ox_tensor *x = ox_ones(OX_SHAPE(2, 3), OX_F32), *none = ox_ones(OX_SHAPE(0), OX_F32);
    says(ox_view(x, OX_SHAPE(4, -1)), "view: f32[2,3] to [4,-1]: 6 elements are no multiple of 4");
    says(ox_view(x, OX_SHAPE(-1, -1)), "view: f32[2,3] to [-1,-1]: only one size may be -1");
    says(ox_view(x, OX_SHAPE(-2)), "view: f32[2,3] to [-2]: dim 0 has size -2");
    says(ox_view(none, OX_SHAPE(0, -1)), "view: f32[0] to [0,-1]: -1 could be any size beside a 0");
    says(ox_view(x, OX_SHAPE(INT64_C(1) << 62, 8)),
         "view: f32[2,3] to [4611686018427387904,8]: it has more elements than 64 bits count");
    says(ox_reshape(x, OX_SHAPE(7)), "reshape: f32[2,3] to [7]: 6 elements are not 7");
    says(ox_unflatten(x, 1, OX_SHAPE(2, 2)), "unflatten: dim 1 of f32[2,3] into [2,2]: 3 elements are not 4");
    says(ox_expand(x, OX_SHAPE(2, 4)), "expand: f32[2,3] to [2,4]: only dims of size 1 grow, not dim 1");
    says(ox_expand(x, OX_SHAPE(2)), "expand: f32[2,3] to [2]: fewer dims");
    says(ox_expand(x, OX_SHAPE(-1, 2, 3)), "expand: f32[2,3] to [-1,2,3]: dim 0 has size -1");
    says(ox_repeat(x, OX_SHAPE(-1, 2)), "repeat: f32[2,3] by [-1,2]: a count is negative");
    says(ox_unfold(x, 0, 5, 1),
         "unfold: windows of 5 by steps of 1 along dim 0 of f32[2,3]: the dim is shorter");
    says(ox_slice(x, 0, 0, 1, 0), "slice: a step of 0 leads nowhere");
    says(ox_narrow(x, 0, 1, 5), "narrow: 5 elements from 1 on are not all within dim 0 of f32[2,3]");
    says(ox_select(x, 0, 9), "select: index 9 is out of range for dim 0 of f32[2,3]");
    says(ox_layer_norm(x, 3, NULL, NULL, 0), "layer_norm: f32[2,3] has no last 3 dims");
    says(ox_one_hot(ox_zeros(OX_SHAPE(2), OX_I64), 0), "one_hot: 0 classes, at least one is needed");
    CHECK(ox_profile_trace(NULL) == OX_ERR_ARG);
    says(NULL, "profile_trace: no path");
    ox_tensor *ids = ox_zeros(OX_SHAPE(2), OX_I64);
    says(ox_embedding(NULL, x), "embedding: operand 1 is NULL");
    says(ox_embedding(ids, NULL), "embedding: operand 2 is NULL");
    says(ox_embedding(x, ids), "embedding: indices are f32[2,3], not i64 or i32"); /* in the other order */
    ox_attention_desc attention;
    memset(&attention, 0, sizeof attention);
    attention.mask = ox_ones(OX_SHAPE(2, 2), OX_I32);
    says(ox_scaled_dot_product_attention(x, x, x, &attention),
         "scaled_dot_product_attention: the mask is i32[2,2], neither bool nor float");
    attention.mask = NULL;
    attention.sinks = ox_ones(OX_SHAPE(2), OX_F32);
    says(ox_scaled_dot_product_attention(x, x, x, &attention),
         "scaled_dot_product_attention: sinks f32[2] are not f32, one for each head of q f32[2,3]");
    says(ox_im2col(ox_ones(OX_SHAPE(1, 2, 3), OX_F32), OX_ALL_DIMS, OX_ALL_DIMS, OX_ALL_DIMS, OX_ALL_DIMS),
         "im2col: no size of a kernel");
}

/* Functions of files and devices tell their own names. */
static void check_names_told(void) {
    ox_file_entry entry;
    CHECK(!ox_file_open(NULL, NULL));
    says(NULL, "file_open: no path");
    CHECK(!ox_file_open_copy("", NULL));
    says(NULL, "file_open_copy: no path");
    says(ox_load_file(NULL), "load_file: no path");
    says(ox_file_tensor(NULL, "x"), "file_tensor: no file or no name");
    says(ox_file_tensor_at(NULL, 0), "file_tensor_at: no file");
    CHECK(ox_file_get_entry(NULL, 0, &entry) == OX_ERR_ARG);
    says(NULL, "file_get_entry: no file or nowhere to write");
    CHECK(ox_device_set_budget(NULL, 1) == OX_ERR_ARG);
    says(NULL, "device_set_budget: the device is NULL");
}

/* einsum names the operand and its shape, the letter, the limit. */
static void check_einsum_reasons(void) {
    ox_tensor *x = ox_ones(OX_SHAPE(2, 3), OX_F32), *ones = ox_ones(OX_SHAPE(1, 1, 1, 1, 1, 1, 1, 1), OX_F32),
              *few = ox_ones(OX_SHAPE(5, 3), OX_F32);
    ox_tensor *two[2] = {x, x}, *many[2] = {ones, x}, *dots[2] = {x, few};
    says(ox_einsum("ij,jk->ik", two, 2),
         "einsum: 'ij,jk->ik': letter 'j' has size 3 in operand 1, but 2 in operand 2 (f32[2,3])");
    says(ox_einsum("...i,...i->i...", dots, 2), "einsum: '...i,...i->i...': dim -1 of \"...\" has size 2 in "
                                                "operand 1, but 5 in operand 2 (f32[5,3])");
    says(ox_einsum("ij->i", two, 2), "einsum: 'ij->i': it has 1 operands, 2 are given");
    says(ox_einsum("ij,ij,ij", two, 2), "einsum: 'ij,ij,ij': it has 3 operands, 2 are given");
    says(ox_einsum("ij,ijk", two, 2), "einsum: 'ij,ijk': operand 2 (f32[2,3]) has 2 dims for 3 letters");
    says(ox_einsum("ii", two, 1), "einsum: 'ii': letter 'i' has sizes 2 and 3 in operand 1 (f32[2,3])");
    says(ox_einsum("i?", two, 1), "einsum: 'i?': operand 1 (f32[2,3]): byte 2, '?', is no letter");
    says(ox_einsum("i..j", two, 1), "einsum: 'i..j': operand 1 (f32[2,3]): dots are \"...\", once");
    says(ox_einsum("ij->iq", two, 1), "einsum: 'ij->iq': the result has letter 'q', which no operand has");
    says(ox_einsum("iJ->JJ", two, 1), "einsum: 'iJ->JJ': the result has letter 'J', which it has before");
    says(ox_einsum("abcdefghi", two, 1), "einsum: 'abcdefghi': operand 1 (f32[2,3]): at most 8 dims");
    says(ox_einsum("abcdefgh,ij->abcdefghij", many, 2),
         "einsum: 'abcdefgh,ij->abcdefghij': the result: at most 8 dims");
    says(ox_einsum("abcdefgh,ij->abcdefgh", many, 2),
         "einsum: 'abcdefgh,ij->abcdefgh': operands up to 2, multiplied, have 10 dims; 8 are the most");
}

static void check_sticky(void) {
    OX_SCOPE {
        CHECK(ox_error() == OX_OK && strcmp(ox_error_text(), "") == 0);
        ox_tensor *a = ox_ones(OX_SHAPE(2, 3), OX_F32), *b = ox_ones(OX_SHAPE(4, 5), OX_F32);
        ox_tensor *c = ox_softmax(ox_matmul(a, b), -1);
        CHECK(!c && ox_error() == OX_ERR_SHAPE);
        CHECK_MSG(strcmp(ox_error_text(), "matmul: inner sizes differ: [2,3] x [4,5]") == 0, "%s",
                  ox_error_text());
        CHECK(!ox_sum(a, OX_DIMS(7), false) && ox_error() == OX_ERR_SHAPE &&
              strstr(ox_error_text(), "matmul"));
        CHECK(ox_add(a, a) != NULL && ox_error() == OX_ERR_SHAPE); /* ops still work, the error stands */
        ox_error_clear();
        CHECK(ox_error() == OX_OK && ox_error_text()[0] == 0);
        CHECK(!ox_sum(a, OX_DIMS(7), false) && ox_error() == OX_ERR_DIM &&
              strstr(ox_error_text(), "sum: dim 7"));
        ox_error_clear();
        CHECK(!ox_exp(NULL) && strstr(ox_error_text(), "exp"));
        ox_error_clear();
        CHECK(!ox_add(a, b) && strstr(ox_error_text(), "add") && strstr(ox_error_text(), "f32[2,3]") &&
              strstr(ox_error_text(), "f32[4,5]"));
        ox_error_clear();
        /* After an error of the same kind everything works as before. */
        CHECK(!ox_floor_divide(ox_ones(OX_SHAPE(2), OX_I32), ox_zeros(OX_SHAPE(2), OX_I32)) &&
              ox_error() == OX_ERR_ARG);
        ox_tensor *seven = ox_full(OX_SHAPE(2), 7, OX_I32), *two = ox_full(OX_SHAPE(2), 2, OX_I32);
        ox_tensor *quotient = ox_floor_divide(seven, two); /* the old error still stands */
        CHECK_MSG(quotient && ox_item_int(ox_select(quotient, 0, 0)) == 3,
                  "an earlier error stops floor_divide");
        ox_tensor *cube = ox_pow(seven, two);
        CHECK_MSG(cube && ox_item_int(ox_select(cube, 0, 0)) == 49, "an earlier error stops pow");
        ox_error_clear();
    }
    for (int s = 0; s <= (int)OX_ERR_UNSUPPORTED; s++) CHECK(strlen(ox_status_text((ox_status)s)) > 5);
    CHECK(strlen(ox_status_text((ox_status)99)) > 5);
    OX_SCOPE { /* the log hears every error, also those that are not the first */
        ox_set_log(count_log, NULL, OX_LOG_ERROR);
        CHECK(!ox_transpose(ox_ones(OX_SHAPE(2), OX_F32), 0, 5) &&
              !ox_transpose(ox_ones(OX_SHAPE(2), OX_F32), 0, 6));
        CHECK_MSG(logged == 2, "%d errors logged", logged);
        ox_set_log(NULL, NULL, OX_LOG_NONE);
        CHECK(!ox_transpose(ox_ones(OX_SHAPE(2), OX_F32), 0, 5) && logged == 2);
        ox_error_clear();
    }
}

#ifdef HAVE_PTHREADS
typedef struct thread_report {
    int number;
    bool good;
} thread_report;

static void *fail_in_thread(void *arg) {
    thread_report *report = (thread_report *)arg;
    char want[32];
    report->good = ox_error() == OX_OK;
    for (int round = 0; round < 50; round++)
        OX_SCOPE {
            ox_tensor *x = ox_ones(OX_SHAPE(2, 3), OX_F32);
            snprintf(want, sizeof want, "dim %d ", 10 + report->number);
            report->good =
                report->good && !ox_sum(x, OX_DIMS(10 + report->number), false) && ox_error() == OX_ERR_DIM;
            report->good = report->good && strstr(ox_error_text(), want) && ox_add(x, x) != NULL;
            ox_error_clear();
            report->good = report->good && ox_error() == OX_OK;
        }
    return NULL;
}

static void check_threads(void) {
    pthread_t threads[4];
    thread_report reports[4];
    OX_SCOPE {
        CHECK(!ox_sum(ox_ones(OX_SHAPE(2), OX_F32), OX_DIMS(3), false));
    }
    for (int i = 0; i < 4; i++) {
        reports[i].number = i;
        reports[i].good = false;
        CHECK(pthread_create(&threads[i], NULL, fail_in_thread, &reports[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_MSG(reports[i].good, "thread %d", i);
    }
    CHECK(ox_error() == OX_ERR_DIM && strstr(ox_error_text(), "dim 3")); /* ours is untouched */
    ox_error_clear();
}
#else
static void check_threads(void) {
    check_skip("errors on threads", "no POSIX threads here");
}
#endif

/* An error inside a parallel region reaches the thread that asked, with its words. */
static void check_parallel_error(void) {
    OX_SCOPE {
        ox_tensor *table = ox_ones(OX_SHAPE(50, 64), OX_F32), *ids = ox_zeros(OX_SHAPE(4000), OX_I64);
        ((int64_t *)ox_data(ids))[3777] = 50;
        ox_set_threads(4);
        CHECK(!ox_embedding(ids, table) && ox_error() == OX_ERR_INDEX);
        CHECK_MSG(strstr(ox_error_text(), "50"), "%s", ox_error_text());
        ox_error_clear();
        ox_set_threads(0);
    }
}

/* ---- every function of the headers was called -------------------------------------------------------- */

static void check_header(const char *path) {
    static char text[200000];
    FILE *file = fopen(path, "rb");
    if (!file) {
        check_skip(path, "not in this folder");
        return;
    }
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    /* Not about tensors: they take no operand that could be wrong. */
    static const char *const left_out[] = {"ox_set_exact",     "ox_profile_begin", "ox_profile_end",
                                           "ox_profile_table", "ox_profile_trace", "ox_isa",
                                           "ox_default_device", "ox_set_default_device",
                                           "ox_device_scope_begin", "ox_device_scope_end", "ox_default_dtype",
                                           "ox_generator_open", "ox_generator_close", "ox_generator_seed",
                                           "ox_generator_get_state", "ox_generator_set_state",
                                           "ox_generator_use", "ox_generator_scope_begin",
                                           "ox_generator_scope_end", "ox_scalar_bool", "ox_scalar_int",
                                           "ox_scalar_uint", "ox_scalar_float", "ox_scalar_complex"};
    int found = 0;
    for (const char *at = strstr(text, "OX_API"); at; at = strstr(at + 1, "OX_API")) {
        const char *name = strstr(at, "ox_"), *end = at;
        while (name) { /* the last word before the parenthesis is the name */
            end = name + strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
            if (*end == '(') break;
            name = strstr(end, "ox_");
        }
        char cell[80];
        if (!name || (size_t)(end - name) >= sizeof cell || strchr(at, '\n') < name) continue;
        memcpy(cell, name, (size_t)(end - name));
        cell[end - name] = 0;
        bool skipped = cell[3] == 0; /* ox_##name: the lists of in-place forms */
        for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
            skipped = skipped || strcmp(cell, left_out[i]) == 0;
        if (skipped) continue;
        found++;
        CHECK_MSG(was_called(cell), "%s: %s is not called here", path, cell);
    }
    CHECK_MSG(found > 20, "%s: only %d functions found", path, found);
}

int main(void) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(2, 2), OX_F32);
        check_null_windows(x);
    check_null_elementwise(x);
        check_null_rest(x);
        check_null_views_and_making(x);
    }
    OX_SCOPE {
        check_nonsense_making();
    }
    OX_SCOPE {
        check_nonsense_numbers_out();
    }
    OX_SCOPE {
        check_nonsense_ops();
    }
    OX_SCOPE {
        check_nonsense_products();
    }
    OX_SCOPE {
        check_reasons();
        check_names_told();
    }
    OX_SCOPE {
        check_einsum_reasons();
    }
    check_refused_numbers();
    check_names_of_composed();
    check_sticky();
    check_threads();
    check_parallel_error();
    check_header("src/ops/ops.h");
    check_header("src/ops/view.h");
    check_header("src/ops/create.h");
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0 &&
                  ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("errors");
}
