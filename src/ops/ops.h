/* The operations. Names and meaning are PyTorch's; where torch says it differently, the comment tells.
 * operands  any strides, any device; broadcast where shapes differ; NULL gives NULL
 * order     tensor first, then operands, dims, options; forms that end in _ write into their first operand
 * memory    a new tensor, owned by the open scope or the caller; _ forms return their operand */
#ifndef OX_OPS_OPS_H
#define OX_OPS_OPS_H

OX_EXTERN_C_BEGIN

/* ---- elementwise, one operand -----------------------------------------------------------------------------
 * shapes    any -> the same
 * dtypes    float ops take bool and integers too and give f32; f16 and bf16 compute in f32 and round once
 * numerics  f32 within 2 ULP (4 where noted *) over the whole range; NaN, infinities, signed zeros as IEEE
 *           says
 * errors    OX_ERR_DTYPE where torch refuses the dtype; OX_ERR_NOMEM
 *
 * abs |x| (c64 -> f32)      neg -x               sign -1, 0, 1         square x x          reciprocal 1/x
 * floor  ceil  trunc        round half to even   frac x - trunc(x)     sqrt                rsqrt 1/sqrt(x)
 * exp  exp2  expm1  exp10   log log2 log10 log1p sin cos tan           asin acos atan      sinh cosh tanh
 * asinh acosh atanh         sigmoid 1/(1+e^-x)   erf  erfc
 * isnan isinf isfinite logical_not -> bool       bitwise_not ~x (integers, bool)
 * conj (real numbers: a copy)                    angle atan2(imag, real) of c64, of real numbers 0 or pi */
/* Functions of one tensor and nothing else, ox_NAME(x); each is also there in place, ox_NAME_(x). Plain ones
 * are PyTorch's, name and schema; of OX_OURS_1 PyTorch has none; what is different of the others says
 * ops/api.def. */
/* clang-format off */
#define OX_PLAIN_1(X) \
    X(abs) X(neg) X(square) X(floor) X(ceil) X(round) X(trunc) X(frac) X(exp) X(exp2) X(expm1) \
    X(log) X(log2) X(log10) X(log1p) X(sqrt) X(rsqrt) X(reciprocal) X(sin) X(cos) X(tan) X(asin) \
    X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(sigmoid) X(erf) X(erfc) \
    X(relu)
#define OX_OURS_1(X) X(exp10)
#define OX_INPLACE_1(X) \
    OX_PLAIN_1(X) OX_OURS_1(X) \
    X(sign) X(bitwise_not) X(logical_not) X(relu6) X(selu) X(gelu) X(gelu_tanh) X(silu) X(mish) \
    X(softsign) X(hardsigmoid) X(hardswish) X(logsigmoid)
/* clang-format on */
#define OXI_X(name) OX_API ox_tensor *ox_##name(ox_tensor *x);
OX_INPLACE_1(OXI_X)
#undef OXI_X
OX_API ox_tensor *ox_isnan(ox_tensor *x);
OX_API ox_tensor *ox_isinf(ox_tensor *x);
OX_API ox_tensor *ox_isfinite(ox_tensor *x);
OX_API ox_tensor *ox_conj(ox_tensor *x);
OX_API ox_tensor *ox_angle(ox_tensor *x);
/* -INFINITY, INFINITY for none. Bounds of integers are whole numbers, OX_ERR_DTYPE otherwise: torch.clamp
 * gives floats then, for which cast x first. One that leaves no number of the type (a low one above its
 * largest, a high one below its smallest) is OX_ERR_ARG; one beyond its other end bounds nothing, where torch
 * refuses or wraps it. */
OX_API ox_tensor *ox_clamp(ox_tensor *x, double low, double high);
/* min(max(x, low), high), broadcast and promoted; one of the two may be NULL for none. NaN wins, in a bound
 * too; where low is above high: high. For bounds that are numbers of another kind: ox_number(0.5) beside
 * integers gives f32, as torch.clamp does. OX_ERR_ARG: no bound at all */
OX_API ox_tensor *ox_clamp_tensor(ox_tensor *x, ox_tensor *low, ox_tensor *high);
/* NaN -> nan, infinities -> positive, negative; torch's defaults are 0, the dtype's max and min (pass
 * INFINITY). */
OX_API ox_tensor *ox_nan_to_num(ox_tensor *x, double nan, double positive, double negative);

/* ---- activations (floats; relu, relu6, hardtanh, threshold integers too) ----------------------------------
 * Those of one tensor and nothing else are in the lists above.
 * relu max(x,0)                      relu6 min(max(x,0),6)            leaky_relu x<0 ? slope x : x
 * elu x<0 ? alpha(e^x-1) : x         celu max(0,x)+min(0,alpha(e^(x/alpha)-1))           selu
 * gelu x/2 (1+erf(x/sqrt2))          gelu_tanh x/2 (1+tanh(sqrt(2/pi)(x+0.044715x^3)))
 * silu x sigmoid(x)                  mish x tanh(softplus(x))         softsign x/(1+|x|)
 * softplus log(1+e^(beta x))/beta, x above threshold/beta             logsigmoid log(sigmoid(x))
 * hardtanh clamp                     hardsigmoid min(max(x+3,0),6)/6  hardswish x hardsigmoid(x)
 * threshold x>threshold ? x : value  glu a sigmoid(b), x = [a b] along dim
 * numbers   for integers they are truncated, as in torch; bounds of hardtanh beyond the type as in ox_clamp
 * errors    OX_ERR_ARG celu with alpha 0, hardtanh with low above high, threshold with a value that does not
 *           fit the integer type; OX_ERR_DTYPE, OX_ERR_ARG NaN beside integers */
OX_API ox_tensor *ox_leaky_relu(ox_tensor *x, double slope);
OX_API ox_tensor *ox_elu(ox_tensor *x, double alpha);
OX_API ox_tensor *ox_celu(ox_tensor *x, double alpha);
OX_API ox_tensor *ox_softplus(ox_tensor *x, double beta, double threshold);
OX_API ox_tensor *ox_hardtanh(ox_tensor *x, double low, double high);
OX_API ox_tensor *ox_threshold(ox_tensor *x, double threshold, double value);
OX_API ox_tensor *ox_glu(ox_tensor *x, int dim);

/* ---- elementwise, two and three operands ------------------------------------------------------------------
 * shapes    broadcast
 * dtypes    promoted as torch.promote_types does; 0-dim tensors and numbers by category only
 * numerics  f16 and bf16 compute in f32 and round once. Numbers and 0-dim tensors beside them are taken in
 *           f32 as they are (torch does so in products and quotients, and rounds them first in sums and
 *           comparisons: f16 2048 == 2049 is true there); tensors of integers are rounded to f16 or bf16
 *           first
 * bool      sums are "or", their scale a whole number that is 0 or not
 * c64       sums add the parts, and a scale multiplies both: an infinite part leaves the other as it is,
 *           where torch multiplies by scale + 0i, 1 too, and makes it NaN. Products and quotients are
 *           torch's, with (inf + 0i)(1 + 0i) = inf + NaN i
 * add_scaled a + s b        div true division: integers give f32    floor_divide, trunc_divide: a/b rounded;
 *                           div_mode: torch's rounding_mode, NULL for div, "trunc", "floor"
 * remainder sign of b       fmod sign of a                          maximum, minimum: NaN wins
 * integers  division by zero is OX_ERR_ARG; powers stay integers: of negative exponents 0, and 1 or -1 of
 *           the bases 1 and -1, but a negative number as the exponent (ox_integer) is OX_ERR_ARG; shifting by
 *           the width or more gives 0 (-1 for negative a shifted right) */
OX_API ox_tensor *ox_add(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_sub(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_add_scaled(ox_tensor *a, ox_tensor *b, double scale);
OX_API ox_tensor *ox_mul(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_div(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_floor_divide(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_trunc_divide(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_div_mode(ox_tensor *a, ox_tensor *b, const char *rounding_mode);
OX_API ox_tensor *ox_remainder(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_fmod(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_pow(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_maximum(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_minimum(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_atan2(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_hypot(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_copysign(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_eq(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_ne(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_lt(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_le(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_gt(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_ge(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_logical_and(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_logical_or(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_logical_xor(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_bitwise_and(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_bitwise_or(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_bitwise_xor(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_bitwise_left_shift(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_bitwise_right_shift(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_silu_mul(ox_tensor *a, ox_tensor *b);              /* silu(a) b: SwiGLU */
OX_API ox_tensor *ox_gelu_mul(ox_tensor *a, ox_tensor *b);              /* gelu_tanh(a) b: GeGLU */
OX_API ox_tensor *ox_where(ox_tensor *condition, ox_tensor *a, ox_tensor *b);   /* condition: bool */
OX_API ox_tensor *ox_lerp(ox_tensor *a, ox_tensor *b, ox_tensor *weight);       /* a + weight (b - a) */
/* t + value a b; for integers value is truncated and products wrap */
OX_API ox_tensor *ox_addcmul(ox_tensor *t, ox_tensor *a, ox_tensor *b, double value);
OX_API ox_tensor *ox_addcdiv(ox_tensor *t, ox_tensor *a, ox_tensor *b, double value);   /* t + value a / b */
/* The value takes x's dtype: for integers and bool it must be a whole number (OX_ERR_DTYPE; torch truncates)
 * that fits as in ox_full (OX_ERR_ARG). mask: bool */
OX_API ox_tensor *ox_masked_fill(ox_tensor *x, ox_tensor *mask, double value);
/* As ox_full_scalar: beside integers fractions are truncated, as in torch. */
OX_API ox_tensor *ox_masked_fill_scalar(ox_tensor *x, ox_tensor *mask, ox_scalar value);

/* ---- with a number: a op number ---------------------------------------------------------------------------
 * ox_add_number(x, 1.5) and so on, ox_add_number_ in place; ox_rsub_number(x, 2) is 2 - x, number op a.
 * dtypes    the number is of category float: i32 + 1 is f32, as i32 + 1.0 in torch. Where the result's dtype
 *           does not follow from it, in comparisons and in place, a whole number beside integers is one of
 *           them: ox_add_number_(i, 1), and ox_eq_number(i, n) is exact. One that they do not hold is
 *           compared in f32, and added with its low bits. For other integers, complex numbers and what a
 *           double does not hold: ox_add(x, ox_integer(n)), ox_mul(x, ox_from_scalar(s))
 * errors    as of the forms with two tensors */
/* clang-format off */
#define OX_NUMBER_2(X) \
    X(add) X(sub) X(mul) X(div) X(floor_divide) X(trunc_divide) X(remainder) X(fmod) X(pow) \
    X(eq) X(ne) X(lt) X(le) X(gt) X(ge)
#define OX_NUMBER_REVERSED(X) X(sub) X(div) X(floor_divide) X(remainder) X(pow)
/* clang-format on */
#define OXI_X(name) OX_API ox_tensor *ox_##name##_number(ox_tensor *a, double number);
OX_NUMBER_2(OXI_X)
#undef OXI_X
#define OXI_X(name) OX_API ox_tensor *ox_##name##_number_(ox_tensor *a, double number);
OX_NUMBER_2(OXI_X)
#undef OXI_X
#define OXI_X(name) OX_API ox_tensor *ox_r##name##_number(ox_tensor *a, double number);
OX_NUMBER_REVERSED(OXI_X)
#undef OXI_X

/* How ox_scatter_reduce combines what comes to one element. */
typedef enum ox_reduction {
    OX_REDUCTION_NONE = 0,
    OX_REDUCTION_SUM,
    OX_REDUCTION_PROD,
    OX_REDUCTION_MEAN, /* of integers rounded down; not of bool */
    OX_REDUCTION_AMAX, /* NaN wins; not of c64 */
    OX_REDUCTION_AMIN
} ox_reduction;

/* ---- in place: the result is written into the first operand and rounded to its dtype ----------------------
 * shapes    the other operands broadcast to the first; overlapping operands are handled
 * errors    OX_ERR_SHAPE if the first would have to grow; OX_ERR_DTYPE if the result's category is higher
 *           than its own; OX_ERR_ARG for expanded (stride 0) or read-only tensors */
/* clang-format off */
#define OX_INPLACE_2(X) \
    X(add) X(sub) X(mul) X(div) X(floor_divide) X(trunc_divide) X(remainder) X(fmod) X(pow) \
    X(maximum) X(minimum) X(atan2) X(hypot) X(copysign) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) \
    X(logical_and) X(logical_or) X(logical_xor) X(bitwise_and) X(bitwise_or) X(bitwise_xor) \
    X(bitwise_left_shift) X(bitwise_right_shift) X(silu_mul) X(gelu_mul)
/* clang-format on */
#define OXI_X(name) OX_API ox_tensor *ox_##name##_(ox_tensor *x);
OX_INPLACE_1(OXI_X)
#undef OXI_X
#define OXI_X(name) OX_API ox_tensor *ox_##name##_(ox_tensor *a, ox_tensor *b);
OX_INPLACE_2(OXI_X)
#undef OXI_X
OX_API ox_tensor *ox_add_scaled_(ox_tensor *a, ox_tensor *b, double scale);
OX_API ox_tensor *ox_div_mode_(ox_tensor *a, ox_tensor *b, const char *rounding_mode);
OX_API ox_tensor *ox_clamp_(ox_tensor *x, double low, double high);
OX_API ox_tensor *ox_clamp_tensor_(ox_tensor *x, ox_tensor *low, ox_tensor *high);
OX_API ox_tensor *ox_nan_to_num_(ox_tensor *x, double nan, double positive, double negative);
OX_API ox_tensor *ox_leaky_relu_(ox_tensor *x, double slope);
OX_API ox_tensor *ox_elu_(ox_tensor *x, double alpha);
OX_API ox_tensor *ox_celu_(ox_tensor *x, double alpha);
OX_API ox_tensor *ox_hardtanh_(ox_tensor *x, double low, double high);
OX_API ox_tensor *ox_threshold_(ox_tensor *x, double threshold, double value);
OX_API ox_tensor *ox_lerp_(ox_tensor *a, ox_tensor *b, ox_tensor *weight);
OX_API ox_tensor *ox_addcmul_(ox_tensor *t, ox_tensor *a, ox_tensor *b, double value);
OX_API ox_tensor *ox_addcdiv_(ox_tensor *t, ox_tensor *a, ox_tensor *b, double value);
OX_API ox_tensor *ox_masked_fill_(ox_tensor *x, ox_tensor *mask, double value);
OX_API ox_tensor *ox_masked_fill_scalar_(ox_tensor *x, ox_tensor *mask, ox_scalar value);
OX_API ox_tensor *ox_cumsum_(ox_tensor *x, int dim);
OX_API ox_tensor *ox_cumprod_(ox_tensor *x, int dim);
OX_API ox_tensor *ox_scatter_(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source);
OX_API ox_tensor *ox_scatter_reduce_(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source,
                                     ox_reduction reduce, bool include_self);
OX_API ox_tensor *ox_index_reduce_(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source,
                                   ox_reduction reduce, bool include_self);
OX_API ox_tensor *ox_scatter_add_(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source);
OX_API ox_tensor *ox_index_add_(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source, double alpha);
OX_API ox_tensor *ox_triu_(ox_tensor *x, int64_t diagonal);
OX_API ox_tensor *ox_tril_(ox_tensor *x, int64_t diagonal);
OX_API ox_tensor *ox_copy_(ox_tensor *x, ox_tensor *source); /* broadcast and converted, any device */
OX_API ox_tensor *ox_fill_(ox_tensor *x, double value);
OX_API ox_tensor *ox_fill_scalar_(ox_tensor *x, ox_scalar value);       /* errors as ox_full_scalar */
OX_API ox_tensor *ox_zero_(ox_tensor *x);
OX_API ox_tensor *ox_uniform_(ox_tensor *x, double low, double high);
OX_API ox_tensor *ox_normal_(ox_tensor *x, double mean, double deviation);
OX_API ox_tensor *ox_bernoulli_(ox_tensor *x, double p); /* 1 with probability p, else 0 */

/* ---- copies and dtypes --------------------------------------------------------------------------------- */
OX_API ox_tensor *ox_clone(ox_tensor *x);                               /* always a copy, contiguous */
OX_API ox_tensor *ox_contiguous(ox_tensor *x);                          /* x itself if it is contiguous */
/* Converts: to nearest even; x itself if it has the dtype. Beyond the range f8_e4m3 gets +-448, other floats
 * infinity. Floats to integers truncate; where the result does not fit (or is NaN) i32 and i64 get their
 * smallest number, 8 and 16 bits the low bits of that i32, u32 the low bits of the i64, and u64 wraps above
 * -2^63 and gets 2^63 otherwise. torch on x86-64 does the same, but for corners of u32 and u64; its u32
 * differs between short and long tensors. Integers to narrower ones keep the low bits. Of c64, real types get
 * the real part, bool whether either part is not 0.
 * Block types expand to floats. Floats, and other block types, are quantized to Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 with
 * ggml's bytes, and to Q4_K Q5_K Q6_K with smaller errors than ggml's; to other block types:
 * OX_ERR_UNSUPPORTED. NaN or an infinity makes its block NaN; numbers beyond what f16 scales reach become
 * infinite or NaN. The last dim is a multiple of the block. ox_copy_ does the same into whole blocks. */
OX_API ox_tensor *ox_cast(ox_tensor *x, ox_dtype dtype);

/* ---- reductions -------------------------------------------------------------------------------------------
 * shapes    dims given as OX_DIMS(0, -1) or OX_ALL_DIMS; they go, or stay as size 1 if keepdim
 * dtypes    sum, nansum, prod: integers and bool give i64; mean, var, std, norm: floats; all, any: bool, of
 *           u8 0 and 1 as u8; arg..., count_nonzero: i64; norm of c64: f32, of the sizes
 * numerics  f16, bf16 and f32 accumulate in f32 blocks summed in f64; the same bits for any thread count
 * errors    OX_ERR_DIM a dim out of range or twice; OX_ERR_SHAPE amax, argmax ... of no elements;
 *           OX_ERR_DTYPE */
/* Of dims and keepdim alone: ox_NAME(x, dims, keepdim). nansum counts NaN as 0. */
#define OX_REDUCE_DIMS(X) X(nansum) X(amax) X(amin) X(all) X(any) X(logsumexp)
#define OXI_X(name) OX_API ox_tensor *ox_##name(ox_tensor *x, ox_shape dims, bool keepdim);
OX_REDUCE_DIMS(OXI_X)
#undef OXI_X
OX_API ox_tensor *ox_sum(ox_tensor *x, ox_shape dims, bool keepdim);
OX_API ox_tensor *ox_mean(ox_tensor *x, ox_shape dims, bool keepdim);
OX_API ox_tensor *ox_prod(ox_tensor *x, ox_shape dims, bool keepdim);
/* With torch's dtype=: x is taken as this dtype, and so is the result; sums of f16 as f32, say, of i8 as i8,
 * whose low bits they keep. OX_DTYPE_NONE: as without. Means are of floats or c64 (OX_ERR_DTYPE). */
OX_API ox_tensor *ox_sum_as(ox_tensor *x, ox_shape dims, bool keepdim, ox_dtype dtype);
OX_API ox_tensor *ox_mean_as(ox_tensor *x, ox_shape dims, bool keepdim, ox_dtype dtype);
OX_API ox_tensor *ox_prod_as(ox_tensor *x, ox_shape dims, bool keepdim, ox_dtype dtype);
/* torch's correction is 1 */
OX_API ox_tensor *ox_var(ox_tensor *x, ox_shape dims, double correction, bool keepdim);
OX_API ox_tensor *ox_std(ox_tensor *x, ox_shape dims, double correction, bool keepdim);
/* p may be +-INFINITY, 0; OX_ERR_SHAPE where p is below 0 or INFINITY and there are no elements */
OX_API ox_tensor *ox_norm(ox_tensor *x, double p, ox_shape dims, bool keepdim);
OX_API ox_tensor *ox_count_nonzero(ox_tensor *x, ox_shape dims);
/* One dim; OX_FLATTENED = over all elements, as an index into the flattened tensor. */
#define OX_FLATTENED INT32_MIN
OX_API ox_tensor *ox_argmax(ox_tensor *x, int dim, bool keepdim);
OX_API ox_tensor *ox_argmin(ox_tensor *x, int dim, bool keepdim);
typedef struct ox_pair { ox_tensor *values, *indices; } ox_pair;        /* both NULL on error */
OX_API ox_pair ox_max(ox_tensor *x, int dim, bool keepdim);
OX_API ox_pair ox_min(ox_tensor *x, int dim, bool keepdim);
OX_API ox_tensor *ox_cumsum(ox_tensor *x, int dim);
OX_API ox_tensor *ox_cumprod(ox_tensor *x, int dim);
OX_API ox_tensor *ox_cumsum_as(ox_tensor *x, int dim, ox_dtype dtype);  /* as ox_sum_as; bool: OX_ERR_DTYPE */
OX_API ox_tensor *ox_cumprod_as(ox_tensor *x, int dim, ox_dtype dtype);
OX_API ox_pair ox_sort(ox_tensor *x, int dim, bool descending); /* stable; NaN counts as the largest */
OX_API ox_tensor *ox_argsort(ox_tensor *x, int dim, bool descending);
OX_API ox_pair ox_topk(ox_tensor *x, int64_t k, int dim, bool largest); /* sorted */

/* ---- moving and choosing ----------------------------------------------------------------------------------
 * index     i32 or i64; out of range is OX_ERR_INDEX with its value and place; negative ones count as out
 *           of range, as in torch */
OX_API ox_tensor *ox_cat(ox_tensor *const *list, int count, int dim);
OX_API ox_tensor *ox_stack(ox_tensor *const *list, int count, int dim);
OX_API ox_tensor *ox_repeat(ox_tensor *x, ox_shape times);
OX_API ox_tensor *ox_tile(ox_tensor *x, ox_shape times);
/* OX_ALL_DIMS: flattened, one shift */
OX_API ox_tensor *ox_roll(ox_tensor *x, ox_shape shifts, ox_shape dims);
/* A copy with these dims backwards, as in torch, where none of them (OX_ALL_DIMS, a list without any) turns
 * nothing; ox_slice by steps of -1 gives a view. */
OX_API ox_tensor *ox_flip(ox_tensor *x, ox_shape dims);
OX_API ox_tensor *ox_gather(ox_tensor *x, int dim, ox_tensor *index);
/* The other dims broadcast; negative indices count from the end. OX_FLATTENED: indices of the flattened
 * tensor. */
OX_API ox_tensor *ox_take_along_dim(ox_tensor *x, ox_tensor *index, int dim);
OX_API ox_tensor *ox_scatter(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source);
/* scatter_add, index_add: floats below 32 bits are added up in f32 and rounded once, where torch's index_add
 * of one dim rounds after each term; terms of an element in their order, so the same bits for any thread
 * count.
 * alpha: as the scale of ox_add_scaled, of integers truncated, of bool 0 or not. */
OX_API ox_tensor *ox_scatter_add(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source);
/* ox_scatter with what comes to an element combined: x's own number (unless include_self is false) and those
 * of source, in their order. Sums and products of f16 and bf16 are made in f32 and rounded once. A NaN, bool
 * and integers as in torch.scatter_reduce. Errors OX_ERR_ARG for OX_REDUCTION_NONE; OX_ERR_DTYPE; as
 * ox_scatter. */
OX_API ox_tensor *ox_scatter_reduce(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source,
                                    ox_reduction reduce, bool include_self);
/* The same with an index for each position of source along dim, as in ox_index_add: torch.index_reduce, which
 * has no sum and no c64. */
OX_API ox_tensor *ox_index_reduce(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source,
                                  ox_reduction reduce, bool include_self);
OX_API ox_tensor *ox_index_select(ox_tensor *x, int dim, ox_tensor *index);
OX_API ox_tensor *ox_index_add(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source, double alpha);
OX_API ox_tensor *ox_masked_select(ox_tensor *x, ox_tensor *mask);
OX_API ox_tensor *ox_nonzero(ox_tensor *x);                             /* i64 [count, ndim] */
/* Rows of table [V,D] by ids [..], i32 or i64 -> [..,D]: torch.nn.functional.embedding. A table of a block
 * type gives f32. */
OX_API ox_tensor *ox_embedding(ox_tensor *ids, ox_tensor *table);
OX_API ox_tensor *ox_one_hot(ox_tensor *ids, int64_t classes); /* i64 [.., classes]; -1 = largest id + 1 */
OX_API ox_tensor *ox_triu(ox_tensor *x, int64_t diagonal);
OX_API ox_tensor *ox_tril(ox_tensor *x, int64_t diagonal);

/* ---- products ------------------------------------------------------------------------------------------ */

/* ox_matmul - matrix product; leading dims broadcast.
 *   out[..,m,n] = sum_k a[..,m,k] * b[..,k,n]
 * shapes    a [..,M,K], b [..,K,N] -> [..,M,N]; 1-d operands as in torch.matmul
 * dtypes    f16 bf16 f32 f64 c64, both operands the same; integers in their own type, whose low bits are
 *           kept (ox_int_mm: i8 with sums of i32);
 *           one operand may be a block type (b given as [..,K,N] = ox_t of block rows [N,K]); f16 and bf16
 *           accumulate in f32
 * memory    a new tensor, one reference; transposed and sliced operands are read in place
 * errors    OX_ERR_SHAPE inner sizes differ; OX_ERR_DTYPE; OX_ERR_NOMEM
 * numerics  within 1e-5*sqrt(K) of float64; same bits for any thread count
 * grad      da = g b^T, db = a^T g
 * source    torch.matmul; blocking after Goto & van de Geijn 2008 */
OX_API ox_tensor *ox_matmul(ox_tensor *a, ox_tensor *b);
/* The same of i8 operands, as i32: sums beyond 32 bits keep their low ones. OX_ERR_DTYPE for others.
 * torch._int_mm, which takes matrices only. */
OX_API ox_tensor *ox_int_mm(ox_tensor *a, ox_tensor *b);
/* x w^T + bias: x [..,K], w [N,K], bias [N] or NULL -> [..,N]. w and bias may be of any float type (f64 meets
 * only f64), w of any block type. */
OX_API ox_tensor *ox_linear(ox_tensor *x, ox_tensor *w, ox_tensor *bias);
/* What may be applied to the result of a product before it is stored: the functions of these names. */
typedef enum ox_activation {
    OX_ACTIVATION_NONE = 0,
    OX_ACTIVATION_RELU,
    OX_ACTIVATION_GELU,
    OX_ACTIVATION_GELU_TANH,
    OX_ACTIVATION_SILU,
    OX_ACTIVATION_SIGMOID,
    OX_ACTIVATION_TANH
} ox_activation;
/* ox_linear and an activation in one pass; floats only. OX_ERR_ARG for an activation that does not exist. */
OX_API ox_tensor *ox_linear_act(ox_tensor *x, ox_tensor *w, ox_tensor *bias, ox_activation activation);
/* Mixtures of experts: out[r,s] = w[experts[r,s]] x[r] + bias[experts[r,s]], or of x[r,s].
 *   x [R,K] or [R,S,K], w [E,N,K], experts i32 or i64 [R,S], bias [E,N] or NULL -> [R,S,N]
 * Dtypes as ox_linear. Weights of experts that are not named are not read. */
OX_API ox_tensor *ox_linear_experts(ox_tensor *x, ox_tensor *w, ox_tensor *experts, ox_tensor *bias);
/* beta c + alpha a b */
OX_API ox_tensor *ox_addmm(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha);
OX_API ox_tensor *ox_addmm_(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha);
OX_API ox_tensor *ox_outer(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_dot(ox_tensor *a, ox_tensor *b);
/* ox_prepack - keeps a constant matrix in the form that products want, so that they need not make it each
 * time. The first product with many rows that `weight`, or a view of it, takes part in makes panels; the
 * next ones, of any number of rows that need panels, take them. What is changed in place is packed anew.
 * Block types are repacked at once and in place, sixteen rows side by side. Products and ox_embedding read
 * them so; every other use, ox_data too, puts them back first. Take a pointer from ox_data anew after this
 * call.
 * dtypes    all; of block types the common ones, [..,k] of a multiple of 16 rows, where the processor gains
 *           from it. Others multiply as they lie
 * memory    none for block types (pages of a mapped file become the program's own; memory that the caller
 *           lent is left alone). Else as much again as the weight in f32 (f16 and bf16: twice as much, or
 *           as much where the processor multiplies bf16), until it is freed or ox_unpack; short of
 *           memory, nothing is kept
 * devices   the CPU; nothing to do on others
 * errors    OX_ERR_ARG, OX_ERR_NOMEM. Not while another thread multiplies with it. Call it again after
 *           changes through a pointer from ox_data, which the library cannot see
 * numerics  the same bits as without; block types: sums of few rows are taken in another order */
OX_API ox_status ox_prepack(ox_tensor *weight);
/* ox_unpack - the end of ox_prepack: block types are put back as they were, panels are freed. Nothing to do
 * where nothing was packed. Errors and threads as ox_prepack. */
OX_API ox_status ox_unpack(ox_tensor *weight);
/* true: block types multiply as f32 after exact expansion; false (the default): int8 products with
 * quantized activations. On a GPU with cooperative matrices, false lets many f32 rows that meet the weights
 * of ox_linear be rounded to their type (block types: to bf16), and queries and the softmax that meet keys
 * and values of f16 or bf16 to theirs. A setting of the calling thread, false in a new one. A call takes it
 * when it is made: the threads of the pool that compute it, a GPU that runs it later and the operations that
 * it is made of have the call's, whatever their own threads are set to. */
OX_API void ox_set_exact(bool exact);

/* ---- neural network rows ------------------------------------------------------------------------------- */
OX_API ox_tensor *ox_softmax(ox_tensor *x, int dim);
OX_API ox_tensor *ox_log_softmax(ox_tensor *x, int dim);
/* Of x as this dtype, a float one, as torch's dtype=: integers too. OX_DTYPE_NONE: as without. */
OX_API ox_tensor *ox_softmax_as(ox_tensor *x, int dim, ox_dtype dtype);
OX_API ox_tensor *ox_log_softmax_as(ox_tensor *x, int dim, ox_dtype dtype);
/* Over the last `last_dims` dims; weight and bias have their shape or are NULL. */
OX_API ox_tensor *ox_layer_norm(ox_tensor *x, int last_dims, ox_tensor *weight, ox_tensor *bias, double eps);
OX_API ox_tensor *ox_rms_norm(ox_tensor *x, int last_dims, ox_tensor *weight, double eps);
/* x [N,C,..] */
OX_API ox_tensor *ox_group_norm(ox_tensor *x, int64_t groups, ox_tensor *weight, ox_tensor *bias, double eps);
/* x [N,C,..]: each channel of a sample by its own mean and variance; weight, bias [C] or NULL. */
OX_API ox_tensor *ox_instance_norm(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, double eps);
/* ox_batch_norm - each channel of x [N,C,..] by its mean and variance over all else, times weight [C] plus
 * bias [C] (NULL: without). training: its own, which running_mean and running_variance [C] (NULL: none)
 * follow by `momentum`, the variance unbiased; else those two. Of narrow floats in f32.
 * errors    OX_ERR_SHAPE no channel dim, not a number a channel, one number alone to train on
 * source    torch.nn.functional.batch_norm; Ioffe & Szegedy 2015 */
OX_API ox_tensor *ox_batch_norm(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, ox_tensor *running_mean,
                                ox_tensor *running_variance, bool training, double momentum, double eps);

/* ox_rope - rotary position embedding.
 *   pair i of a row at position p is rotated by p * scale / (base^(2i/dims) * factor[i])
 * shapes    x [..,S,D], positions i32 or i64 [S] (NULL = 0, 1, ..) -> as x
 * source    Su et al. 2021; pairs (2i, 2i+1) when interleaved, else (i, i + dims/2) as in GPT-NeoX */
typedef struct ox_rope_desc {
    double base; /* 0 = 10000 */
    double scale; /* of the positions; 0 = 1 */
    int dims; /* leading elements of a row that are rotated; 0 = D */
    bool interleaved;
    ox_tensor *factors; /* f32 [dims/2] divisors of the frequencies (Llama 3), or NULL */
    double magnitude; /* cos and sin are multiplied by this; 0 = 1 */
} ox_rope_desc;
OX_API ox_tensor *ox_rope(ox_tensor *x, ox_tensor *positions, const ox_rope_desc *desc);

/* ox_scaled_dot_product_attention - softmax(scale q k^T + mask) v, tiled with an online softmax: O(S) memory.
 * shapes    q [B,H,S,D], k [B,Hkv,T,D], v [B,Hkv,T,Dv] -> [B,H,S,Dv]; H a multiple of Hkv; leading dims may
 *           be missing
 * mask      bool (true = may attend) or float (added), broadcast to [B,H,S,T]
 * sinks     a logit a head that joins its softmaxes without a value; neither scaled, capped nor masked
 * dtypes    f16 bf16 f32 f64; k and v may differ from q (a f16 cache), and be of a block type whose blocks
 *           run along D and Dv (a q8_0 cache); accumulates in f32 (f64: f64)
 * numerics  rows with nothing to attend to give 0, as in torch 2.14
 * source    torch.nn.functional.scaled_dot_product_attention; Milakov & Gimelshein 2018; Dao et al. 2022 */
typedef struct ox_attention_desc {
    ox_tensor *mask;
    bool causal; /* row s sees keys t <= query_start + s */
    int64_t query_start; /* position of the first query row among the keys; 0 as in torch */
    int64_t window; /* > 0: only the last `window` keys, the row's own position included */
    double scale; /* 0 = 1/sqrt(D) */
    double softcap; /* > 0: scores become softcap tanh(score/softcap) before the mask */
    ox_tensor *sinks; /* f32 [H], or NULL */
} ox_attention_desc;
OX_API ox_tensor *ox_scaled_dot_product_attention(ox_tensor *q, ox_tensor *k, ox_tensor *v,
                                                  const ox_attention_desc *desc);

/* ox_linear_attention - a memory [K,V] of each head, position by position: what it decays to, what is
 * written, and what a query reads of it.
 *     M = exp(decay) M + k^T v + write^T (erase M);  out = q M         (erase M: of M before it decays)
 * shapes    q, k, erase, write [H,S,K], v [H,S,V], state [H,K,V]; decay, logarithms: [H,S,1] a number a head,
 *           [H,S,K] one a row of M, or [H,S,K,V] -> [H,S+K,V]: out, and behind it M as the last position
 *           leaves it, the state of the next call (views: ox_narrow(result, 1, 0, S) and ox_narrow(result, 1,
 *           S, K)). erase and write: both, or NULL
 * dtypes    f16 bf16 f32, f64 with f64 alone; the result has the state's; computed in f32 (f64: f64)
 * errors    OX_ERR_SHAPE, OX_ERR_DTYPE; there is no gradient
 * source    Dao and Gu 2024, "Transformers are SSMs"; Yang et al. 2024, "Gated Delta Networks" (erase
 *           -exp(decay) k, write rate k, v rate v); Peng et al. 2025, "RWKV-7" */
OX_API ox_tensor *ox_linear_attention(ox_tensor *q, ox_tensor *k, ox_tensor *v, ox_tensor *decay,
                                      ox_tensor *state, ox_tensor *erase, ox_tensor *write);

/* ox_selective_scan - the state spaces of Mamba: linear attention whose decays and writing a step makes.
 *     s = step + bias, or its softplus;  M = exp(s rate) M + b^T (s u);  out = (c M + skip u) silu(gate)
 * shapes    u, gate [H,S,V], b, c [H,S,K], state [H,K,V]; step [H,S,V] or [H,S,1]; rate [H,K,V], each of the
 *           two or both may be 1; skip, bias [H,1,V] or [H,1,1] -> [H,S+K,V], as of ox_linear_attention;
 *           skip, gate, bias: or NULL. hold_last: [H,1+K,V], out of the last position alone, and M without
 *           what that does to it
 * dtypes    as of ox_linear_attention
 * errors    OX_ERR_SHAPE, OX_ERR_DTYPE; there is no gradient
 * source    Gu and Dao 2023, "Mamba" (of one head); Dao and Gu 2024, "Transformers are SSMs" */
OX_API ox_tensor *ox_selective_scan(ox_tensor *u, ox_tensor *step, ox_tensor *rate, ox_tensor *b,
                                    ox_tensor *c, ox_tensor *state, ox_tensor *skip, ox_tensor *gate,
                                    ox_tensor *step_bias, bool softplus, bool hold_last);

/* ---- convolution ---------------------------------------------------------------------------------------
 * ox_conv2d - the cross-correlation of x [N,C,H,W] with weight [O,C/groups,h,w], plus bias [O] or NULL, as
 * torch's conv2d: [N,O,H',W'], H' = floor((H + 2 padding - dilation (h - 1) - 1) / stride) + 1. x may be one
 * sample, [C,H,W], and so is the result then. ox_conv1d and ox_conv3d have one and three spatial dims.
 * dtypes    floats; x, weight and bias as in ox_layer_norm: f64 meets only its own
 * memory    the result, and panels of the windows while it is computed; windows are never laid out
 * numerics  as ox_matmul: f16 and bf16 are summed in f32 and rounded once, behind the bias; on the CPU 3 x 3
 *           of these, unless ox_set_exact, with fewer products, off by some 1e-6 of the largest nearby
 * errors    OX_ERR_SHAPE channels, groups or bias do not fit, no window fits; OX_ERR_ARG a number below what
 *           it may be; OX_ERR_DTYPE
 * grad      dx is a transposed convolution of g, dweight the product of g with the windows
 * source    torch.nn.functional.conv2d */
#define OX_PADDING_SAME (INT64_MIN + 1) /* ox_conv_desc.padding = OX_DIMS(OX_PADDING_SAME): torch's "same" */
typedef struct ox_conv_desc { /* OX_DIMS(2) for all spatial dims, OX_DIMS(2, 1) for rows and columns */
    ox_shape stride; /* empty = 1 */
    ox_shape padding; /* zeros on either side; empty = 0 */
    ox_shape dilation; /* between elements of a kernel; empty = 1: side by side */
    int64_t groups; /* 0 = 1 */
} ox_conv_desc;               /* all zeros, or NULL for it: torch's defaults */
OX_API ox_tensor *ox_conv1d(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, const ox_conv_desc *desc);
OX_API ox_tensor *ox_conv2d(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, const ox_conv_desc *desc);
OX_API ox_tensor *ox_conv3d(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, const ox_conv_desc *desc);

/* ox_conv_transpose2d - what flows back to the operand of a convolution, as torch's conv_transpose2d:
 * x [N,C,H,W], weight [C,O/groups,h,w] -> [N,O,H',W'],
 * H' = (H - 1) stride - 2 padding + dilation (h - 1) + output_padding + 1. Else as ox_conv2d.
 * errors    OX_ERR_ARG also an output_padding that is neither below stride nor dilation */
typedef struct ox_conv_transpose_desc {
    ox_shape stride; /* each as in ox_conv_desc */
    ox_shape padding;
    ox_shape output_padding; /* more elements at the end of the result; empty = 0 */
    int64_t groups;
    ox_shape dilation;
} ox_conv_transpose_desc;
OX_API ox_tensor *ox_conv_transpose1d(ox_tensor *x, ox_tensor *weight, ox_tensor *bias,
                                      const ox_conv_transpose_desc *desc);
OX_API ox_tensor *ox_conv_transpose2d(ox_tensor *x, ox_tensor *weight, ox_tensor *bias,
                                      const ox_conv_transpose_desc *desc);
OX_API ox_tensor *ox_conv_transpose3d(ox_tensor *x, ox_tensor *weight, ox_tensor *bias,
                                      const ox_conv_transpose_desc *desc);

/* ox_conv_back_weight - what flows back to the weight of a convolution of x [N,C,..] whose result has the
 * gradient g [N,O,..]: [O,C/groups,..], its last dims those of `size`. desc as the convolution had it. Sums
 * in f32 (f64: f64); rounded to g's dtype. torch.nn.grad.conv2d_weight */
OX_API ox_tensor *ox_conv_back_weight(ox_tensor *g, ox_tensor *x, ox_shape size, const ox_conv_desc *desc);

/* ox_im2col - the windows of x [N,C,H,W] or [C,H,W] as columns [N,C h w,places] or [C h w,places]: what a
 * convolution multiplies by its weights. kernel, dilation, padding, stride: OX_DIMS(2) for both dims, or
 * OX_DIMS(2, 1) for rows and columns; empty = 1, padding 0. torch.nn.functional.unfold (ox_unfold is
 * torch.Tensor.unfold: a view, along one dim).
 * ox_col2im - what columns of an image of size OX_DIMS(H, W) add up to, where windows overlap:
 * torch.nn.functional.fold. Sums of f16 and bf16 are rounded after each window, as in torch.
 * dtypes    all but block types
 * errors    OX_ERR_SHAPE no window fits, columns that are not those of such windows; OX_ERR_ARG a number
 *           below what it may be, or no kernel */
OX_API ox_tensor *ox_im2col(ox_tensor *x, ox_shape kernel, ox_shape dilation, ox_shape padding,
                            ox_shape stride);
OX_API ox_tensor *ox_col2im(ox_tensor *x, ox_shape size, ox_shape kernel, ox_shape dilation,
                            ox_shape padding, ox_shape stride);

/* ---- pooling ---------------------------------------------------------------------------------------------
 * ox_max_pool2d - the largest of each window of x [N,C,H,W] or [C,H,W]; with_indices: and where it is in H W,
 * the first of equals, NaN before all.
 * ox_avg_pool2d - the mean of each window, f16 and bf16 summed in f32. include_pad: zeros of the padding are
 * counted; divisor: what sums are divided by, 0 = their count.
 * ox_adaptive_avg_pool2d, ox_adaptive_max_pool2d - as many windows as size says, which cover x evenly.
 * Likewise of one and three spatial dims. OX_DIMS(2) for all dims, OX_DIMS(2, 1) for each; OX_SCALAR_SHAPE:
 * the kernel as stride, no padding, dilation 1. ceil: a window may reach over the end, as in torch.
 * dtypes    max: floats and integers; avg: floats
 * errors    OX_ERR_SHAPE no window fits; OX_ERR_ARG a number below what it may be, padding above half of a
 *           window
 * grad      max: g goes to where the largest is; avg: ox_avg_pool_back
 * source    torch.nn.functional.max_pool2d, avg_pool2d */
OX_API ox_tensor *ox_max_pool1d(ox_tensor *x, ox_shape kernel, ox_shape stride, ox_shape padding,
                                ox_shape dilation, bool ceil);
OX_API ox_pair ox_max_pool1d_with_indices(ox_tensor *x, ox_shape kernel, ox_shape stride, ox_shape padding,
                                          ox_shape dilation, bool ceil);
OX_API ox_tensor *ox_avg_pool1d(ox_tensor *x, ox_shape kernel, ox_shape stride, ox_shape padding, bool ceil,
                                bool include_pad, int64_t divisor);
OX_API ox_pair ox_adaptive_max_pool1d(ox_tensor *x, ox_shape size);
OX_API ox_tensor *ox_adaptive_avg_pool1d(ox_tensor *x, ox_shape size);
OX_API ox_tensor *ox_max_pool2d(ox_tensor *x, ox_shape kernel, ox_shape stride, ox_shape padding,
                                ox_shape dilation, bool ceil);
OX_API ox_pair ox_max_pool2d_with_indices(ox_tensor *x, ox_shape kernel, ox_shape stride, ox_shape padding,
                                          ox_shape dilation, bool ceil);
OX_API ox_tensor *ox_avg_pool2d(ox_tensor *x, ox_shape kernel, ox_shape stride, ox_shape padding, bool ceil,
                                bool include_pad, int64_t divisor);
OX_API ox_pair ox_adaptive_max_pool2d(ox_tensor *x, ox_shape size);
OX_API ox_tensor *ox_adaptive_avg_pool2d(ox_tensor *x, ox_shape size);
OX_API ox_tensor *ox_max_pool3d(ox_tensor *x, ox_shape kernel, ox_shape stride, ox_shape padding,
                                ox_shape dilation, bool ceil);
OX_API ox_pair ox_max_pool3d_with_indices(ox_tensor *x, ox_shape kernel, ox_shape stride, ox_shape padding,
                                          ox_shape dilation, bool ceil);
OX_API ox_tensor *ox_avg_pool3d(ox_tensor *x, ox_shape kernel, ox_shape stride, ox_shape padding, bool ceil,
                                bool include_pad, int64_t divisor);
OX_API ox_pair ox_adaptive_max_pool3d(ox_tensor *x, ox_shape size);
OX_API ox_tensor *ox_adaptive_avg_pool3d(ox_tensor *x, ox_shape size);
/* What flows back through ox_avg_pool: g spread over an operand with the spatial dims `size`; an empty
 * kernel: through ox_adaptive_avg_pool. */
OX_API ox_tensor *ox_avg_pool_back(ox_tensor *g, ox_shape size, ox_shape kernel, ox_shape stride,
                                   ox_shape padding, bool ceil, bool include_pad, int64_t divisor);

/* ---- random -------------------------------------------------------------------------------------------- */
OX_API ox_tensor *ox_bernoulli(ox_tensor *probabilities);
/* [..,K] -> i64 [..,samples] */
OX_API ox_tensor *ox_multinomial(ox_tensor *weights, int64_t samples, bool replacement);
OX_API ox_tensor *ox_dropout(ox_tensor *x, double p, bool training);
OX_API ox_tensor *ox_dropout_(ox_tensor *x, double p, bool training);

/* ---- watching ---------------------------------------------------------------------------------------------
 * The profiler times each call: flops, bytes and seconds per op. Calls on a GPU are timed there, and are
 * noted when something waits for them (a read, ox_device_sync). */
OX_API void ox_profile_begin(void);
OX_API void ox_profile_end(void);
/* A table, one line an op, most time first, into `out` (NULL with room 0 to measure); returns its length. */
OX_API size_t ox_profile_table(char *out, size_t room);
#ifndef OX_NO_STDIO
OX_API ox_status ox_profile_trace(const char *path);                    /* Chrome trace JSON */
#endif
/* "c", "sse2", "avx", "avx2", "avx512", "amx", "neon": the tier that was picked. OX_ISA in the environment
 * lowers it, "avx512-base" to the tier without what the processor has beyond it (SSSE3, VNNI, dot products).
 * The log tells when it names none that this processor runs. */
OX_API const char *ox_isa(void);

OX_EXTERN_C_END
#endif
