/* What a program does to tensors beside computing: forms in place of views, of what is put by index,
 * resizing; elementwise functions and products that programs which only infer rarely need; tensors with
 * strides of one's own, dtypes of results, several statistics at once; turns, grids, copies with a part
 * replaced, what repeats and what accumulates.
 * memory    forms in place give t itself; the others a new tensor, one reference
 * errors    OX_ERR_SHAPE, OX_ERR_DIM, OX_ERR_DTYPE, OX_ERR_INDEX as of the functions without a _; OX_ERR_ARG
 * source    the functions of the same names in torch */
#ifndef OX_NN_TENSORS_H
#define OX_NN_TENSORS_H

OX_EXTERN_C_BEGIN

/* ---- views in place ---------------------------------------------------------------------------------------
 * t itself becomes the view of its numbers that the function without the _ gives: nothing is copied, other
 * headers of the numbers stay as they are. It counts as a change in place: a gradient that needs the numbers
 * of before says so, and a result that was recorded goes on as the view.
 * errors    OX_ERR_ARG a leaf that wants a gradient; under OX_NO_GRAD such a leaf that has a gradient or is
 *           needed by what was recorded, and a result of what was recorded; a number (ox_number) */
OX_API ox_tensor *ox_transpose_(ox_tensor *t, int dim0, int dim1);
OX_API ox_tensor *ox_t_(ox_tensor *t);
OX_API ox_tensor *ox_squeeze_(ox_tensor *t, int dim);
OX_API ox_tensor *ox_squeeze_all_(ox_tensor *t);
OX_API ox_tensor *ox_unsqueeze_(ox_tensor *t, int dim);
OX_API ox_tensor *ox_as_strided_(ox_tensor *t, ox_shape shape, ox_shape strides, int64_t offset);

/* ox_resize_ - another shape, contiguous, over the numbers from t's first on; the same shape changes nothing.
 * Where they are fewer than it takes, t moves to memory of its own, whose further numbers are 0: other views
 * keep the old one, where torch moves them along. ox_resize_as_ - the shape of another.
 * errors    OX_ERR_ARG t has a gradient; OX_ERR_DTYPE a block type */
OX_API ox_tensor *ox_resize_(ox_tensor *t, ox_shape shape);
OX_API ox_tensor *ox_resize_as_(ox_tensor *t, const ox_tensor *like);
/* t forgets how it was computed, and wants no gradient any more. OX_ERR_ARG a view: ox_detach. */
OX_API ox_tensor *ox_detach_(ox_tensor *t);

/* ---- joins, splits, diagonals, more dims --------------------------------------------------------------- */
OX_API ox_tensor *ox_hstack(ox_tensor *const *list, int count);
OX_API ox_tensor *ox_vstack(ox_tensor *const *list, int count);
OX_API ox_tensor *ox_diag(ox_tensor *x, int64_t diagonal);  /* a copy, of vectors a matrix */
OX_API ox_tensor *ox_diag_embed(ox_tensor *x, int64_t offset, int dim1, int dim2);
/* Each repeated; repeats of one number (ox_integer) or one an element. OX_FLATTENED flattens x. Reads the
 * total. */
OX_API ox_tensor *ox_repeat_interleave(ox_tensor *x, ox_tensor *repeats, int dim);
OX_API ox_tensor *ox_trace(ox_tensor *x);                   /* of two dims: the sum of the diagonal */
OX_API ox_tensor *ox_atleast_1d(ox_tensor *x);
OX_API ox_tensor *ox_atleast_2d(ox_tensor *x);
OX_API ox_tensor *ox_atleast_3d(ox_tensor *x);
OX_API ox_tensor *ox_dstack(ox_tensor *const *list, int count);
OX_API ox_tensor *ox_column_stack(ox_tensor *const *list, int count);
/* As ox_split: views into out[room], the count; -1 and an error. tensor_split_at: before each index. */
OX_API int64_t ox_tensor_split(ox_tensor *x, int64_t sections, int dim, ox_tensor **out, int64_t room);
OX_API int64_t ox_tensor_split_at(ox_tensor *x, const int64_t *indices, int64_t count, int dim,
                                   ox_tensor **out, int64_t room);
OX_API int64_t ox_broadcast_tensors(ox_tensor *const *list, int count, ox_tensor **out, int64_t room);

/* ---- taken and put by index, in a copy ----------------------------------------------------------------- */
/* x[i, :, j] of Python: an index tensor or mask a leading dim, NULL for all of it; indices broadcast,
 * negative ones count from the end. ox_index_put gives a copy with values there, added up if accumulate is
 * true. Both read whether an index is out of range (OX_ERR_INDEX). */
OX_API ox_tensor *ox_index(ox_tensor *x, ox_tensor *const *indices, int count);
OX_API ox_tensor *ox_index_put(ox_tensor *x, ox_tensor *const *indices, int count, ox_tensor *values,
                               bool accumulate);
OX_API ox_tensor *ox_index_copy(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source);
OX_API ox_tensor *ox_index_fill(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *value);
OX_API ox_tensor *ox_take(ox_tensor *x, ox_tensor *index);
OX_API ox_tensor *ox_put(ox_tensor *x, ox_tensor *index, ox_tensor *source, bool accumulate);
OX_API ox_tensor *ox_masked_scatter(ox_tensor *x, ox_tensor *mask, ox_tensor *source);
/* Where values would go in sorted lines (of the last dim, or one line for all), i64; right: behind equals. */
OX_API ox_tensor *ox_searchsorted(ox_tensor *sorted, ox_tensor *values, bool right);
/* Of these: which boundaries each value lies between, i64; and whether it is among others. */
OX_API ox_tensor *ox_bucketize(ox_tensor *values, ox_tensor *boundaries, bool right);
OX_API ox_tensor *ox_isin(ox_tensor *x, ox_tensor *among, bool invert);

/* ---- by index, in place: as ox_index_put and ox_put, which give copies --------------------------------- */
OX_API ox_tensor *ox_index_put_(ox_tensor *t, ox_tensor *const *indices, int count, ox_tensor *values,
                                bool accumulate);
OX_API ox_tensor *ox_put_(ox_tensor *t, ox_tensor *index, ox_tensor *source, bool accumulate);

/* ---- elementwise --------------------------------------------------------------------------------------- */
/* sinc sin(pi x)/(pi x)   deg2rad rad2deg   tanhshrink x - tanh(x)   isposinf isneginf bool
 * logaddexp log(e^a+e^b), logaddexp2 of 2   xlogy a log(b), xlog1py a log(1+b): 0 where a is 0
 * heaviside 0, b, 1 for a below, at, above 0   ldexp a 2^b   float_power in f64
 * nextafter a's neighbor towards b   gcd lcm of integers; they read whether they are done */
/* clang-format off */
#define OX_TENSORS_1(X) X(sinc) X(deg2rad) X(rad2deg) X(tanhshrink) X(isposinf) X(isneginf)
#define OX_TENSORS_2(X) \
    X(logaddexp) X(logaddexp2) X(xlogy) X(xlog1py) X(heaviside) X(ldexp) X(float_power) X(nextafter) X(gcd) \
    X(lcm) X(inner) X(vdot)
/* clang-format on */
#define OXI_X(name) OX_API ox_tensor *ox_##name(ox_tensor *x);
OX_TENSORS_1(OXI_X)
#undef OXI_X
#define OXI_X(name) OX_API ox_tensor *ox_##name(ox_tensor *a, ox_tensor *b);
OX_TENSORS_2(OXI_X)
#undef OXI_X
OX_API ox_tensor *ox_logit(ox_tensor *x, double eps);         /* log(x/(1-x)); eps -1: x is not clamped */
OX_API ox_tensor *ox_hardshrink(ox_tensor *x, double lambda); /* 0 where |x| <= lambda */
OX_API ox_tensor *ox_softshrink(ox_tensor *x, double lambda); /* nearer to 0 by lambda */
OX_API ox_tensor *ox_softmin(ox_tensor *x, int dim);
OX_API ox_tensor *ox_prelu(ox_tensor *x, ox_tensor *weight); /* weight of one, or one a channel (dim 1) */
OX_API ox_tensor *ox_rrelu(ox_tensor *x, double lower, double upper, bool training);
OX_API ox_tuple ox_frexp(ox_tensor *x); /* mantissa, exponent (i32): 1/2 <= |mantissa| < 1 */

/* ---- products: beta c + alpha product ------------------------------------------------------------------ */
OX_API ox_tensor *ox_addmv(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha);
OX_API ox_tensor *ox_addr(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha);
OX_API ox_tensor *ox_addbmm(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha);
OX_API ox_tensor *ox_baddbmm(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha);
OX_API ox_tensor *ox_vecdot(ox_tensor *a, ox_tensor *b, int dim);
OX_API ox_tensor *ox_tensordot(ox_tensor *a, ox_tensor *b, ox_shape dims_a, ox_shape dims_b);

/* ---- made ---------------------------------------------------------------------------------------------- */
/* Memory for strides of one's own, not below 0; its numbers are any. */
OX_API ox_tensor *ox_empty_strided(ox_shape shape, ox_shape strides, ox_dtype dtype);
/* base to the power of `steps` exponents from start to end, both ends included; computed in f64. */
OX_API ox_tensor *ox_logspace(double start, double end, int64_t steps, double base, ox_dtype dtype);

/* Places of a triangle of ones, i64 [2, count]. */
OX_API ox_tensor *ox_tril_indices(int64_t rows, int64_t columns, int64_t offset);
OX_API ox_tensor *ox_triu_indices(int64_t rows, int64_t columns, int64_t offset);
OX_API ox_tensor *ox_diagflat(ox_tensor *x, int64_t offset);
/* As ox_split: views into out[room], the count; -1 and an error. indexing "ij" (NULL) or "xy". */
OX_API int64_t ox_meshgrid(ox_tensor *const *list, int count, const char *indexing, ox_tensor **out,
                           int64_t room);
OX_API ox_tensor *ox_rot90(ox_tensor *x, int64_t times, int dim0, int dim1);

/* ---- copies of x, of which what the view of that name shows is source ---------------------------------- */
OX_API ox_tensor *ox_select_scatter(ox_tensor *x, ox_tensor *source, int dim, int64_t index);
OX_API ox_tensor *ox_slice_scatter(ox_tensor *x, ox_tensor *source, int dim, int64_t start, int64_t end,
                                   int64_t step);
OX_API ox_tensor *ox_diagonal_scatter(ox_tensor *x, ox_tensor *source, int64_t offset, int dim1, int dim2);
OX_API ox_tensor *ox_as_strided_scatter(ox_tensor *x, ox_tensor *source, ox_shape shape, ox_shape strides,
                                        int64_t offset);

/* ---- places -------------------------------------------------------------------------------------------- */
/* The first `size` places that are not 0, i64 [size, dims of x]; rows behind them are fill_value. */
OX_API ox_tensor *ox_nonzero_static(ox_tensor *x, int64_t size, int64_t fill_value);
/* Places in a flattened tensor of that shape as one i64 tensor a dim, into out[room]; the count of dims. */
OX_API int64_t ox_unravel_index(ox_tensor *indices, ox_shape shape, ox_tensor **out, int64_t room);

/* ---- what repeats, what accumulates -------------------------------------------------------------------- */
/* (values sorted, which each element is, counts). dim OX_FLATTENED: of elements; else of slices along dim. */
OX_API ox_tuple ox_unique(ox_tensor *x, int dim);
OX_API ox_tuple ox_unique_consecutive(ox_tensor *x, int dim);           /* in the order they come in */
/* The largest (smallest) so far and where it was, the last of equal ones; NaN stays. */
OX_API ox_pair ox_cummax(ox_tensor *x, int dim);
OX_API ox_pair ox_cummin(ox_tensor *x, int dim);
OX_API ox_tensor *ox_logcumsumexp(ox_tensor *x, int dim);

/* ---- dtypes -------------------------------------------------------------------------------------------- */
/* Of what is computed of both: tensors without dims and numbers count by their class alone. NONE and an error
 * where there is none. */
OX_API ox_dtype ox_result_type(ox_tensor *a, ox_tensor *b);
/* Whether no class is lost: complex numbers to real ones, floats to integers, integers to bool. */
OX_API bool ox_can_cast(ox_dtype from, ox_dtype to);

/* ---- several at once ----------------------------------------------------------------------------------- */
/* Least and most; dim OX_FLATTENED: of all. */
OX_API ox_tuple ox_aminmax(ox_tensor *x, int dim, bool keepdim);
OX_API ox_tuple ox_var_mean(ox_tensor *x, ox_shape dims, double correction, bool keepdim);
OX_API ox_tuple ox_std_mean(ox_tensor *x, ox_shape dims, double correction, bool keepdim);

/* ---- reduced ------------------------------------------------------------------------------------------- */

/* ox_segment_reduce - of runs of positions along a dim: run s has lengths[.., s] of them, one after the
 * other.
 *   x [B.., N, R..], lengths [B.., S] (axis = dims of B) -> [B.., S, R..]; or offsets [B.., S + 1] for
 *   lengths
 * how       "sum" "prod" "mean" "max" "min"; `initial` is one number more of each run (of a mean: of its
 *           sum); NAN: none, and runs of nothing are 0, 1, NaN, -inf and inf
 * errors    OX_ERR_INDEX lengths below 0, or that are not N in all; OX_ERR_ARG both or none of lengths and
 *           offsets
 * source    torch.segment_reduce */
OX_API ox_tensor *ox_segment_reduce(ox_tensor *x, const char *how, ox_tensor *lengths, ox_tensor *offsets,
                                    int axis, double initial);
/* The exclusive or of the bits of each number, in 64 of them (of floats as f64, of integers as i64): u64.
 * dtypes    all but c64 and blocks
 * source    torch.hash_tensor */
OX_API ox_tensor *ox_hash_tensor(ox_tensor *x, ox_shape dims, bool keepdim);

OX_EXTERN_C_END
#endif
