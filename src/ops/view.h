/* Views: other shapes, strides and offsets over the same storage; nothing is copied.
 * dims     negative ones count from the end
 * errors   OX_ERR_DIM, OX_ERR_SHAPE; OX_ERR_DTYPE
 * blocks   tensors of block types may be viewed by whole blocks: the packed dim may be moved, and be cut,
 *          split and merged between blocks; the other dims as always. OX_ERR_DTYPE otherwise, and from
 *          diagonal, as_strided, unfold and view_dtype
 * source   the torch functions of the same names; slice takes steps < 0 too, unlike torch */
#ifndef OX_OPS_VIEW_H
#define OX_OPS_VIEW_H

OX_EXTERN_C_BEGIN

OX_API ox_tensor *ox_t(ox_tensor *x); /* 2-d: swaps the dims; 0-d, 1-d: as is */
OX_API ox_tensor *ox_transpose(ox_tensor *x, int dim0, int dim1);
OX_API ox_tensor *ox_permute(ox_tensor *x, ox_shape dims);
OX_API ox_tensor *ox_movedim(ox_tensor *x, int source, int destination);
/* One -1 is worked out. view: OX_ERR_SHAPE if strides do not allow it; reshape copies in that case. */
OX_API ox_tensor *ox_view(ox_tensor *x, ox_shape shape);
OX_API ox_tensor *ox_reshape(ox_tensor *x, ox_shape shape);
OX_API ox_tensor *ox_flatten(ox_tensor *x, int first_dim, int last_dim);      /* copies if it must */
OX_API ox_tensor *ox_unflatten(ox_tensor *x, int dim, ox_shape sizes);
OX_API ox_tensor *ox_narrow(ox_tensor *x, int dim, int64_t start, int64_t length);
/* [start, end) by step, clamped like Python's slices; OX_END = to the end. step < 0 starts at start (OX_END
 * = last) and goes down to, not including, end (OX_END = past the first): a dim backwards, as a view, is
 * ox_slice(x, dim, OX_END, OX_END, -1). */
#define OX_END INT64_MAX
OX_API ox_tensor *ox_slice(ox_tensor *x, int dim, int64_t start, int64_t end, int64_t step);
OX_API ox_tensor *ox_select(ox_tensor *x, int dim, int64_t index);       /* the dim goes */
OX_API ox_tensor *ox_expand(ox_tensor *x, ox_shape shape);               /* broadcast; -1 keeps a dim */
OX_API ox_tensor *ox_expand_as(ox_tensor *x, const ox_tensor *like);
/* the diagonal becomes the last dim */
OX_API ox_tensor *ox_diagonal(ox_tensor *x, int64_t offset, int dim1, int dim2);
OX_API ox_tensor *ox_as_strided(ox_tensor *x, ox_shape shape, ox_shape strides, int64_t offset);
OX_API ox_tensor *ox_squeeze(ox_tensor *x, int dim);                     /* only if its size is 1 */
OX_API ox_tensor *ox_squeeze_all(ox_tensor *x);
OX_API ox_tensor *ox_unsqueeze(ox_tensor *x, int dim);
/* windows become the last dim: torch.Tensor.unfold; torch.nn.functional.unfold is ox_im2col */
OX_API ox_tensor *ox_unfold(ox_tensor *x, int dim, int64_t size, int64_t step);
OX_API ox_tensor *ox_view_as_real(ox_tensor *x);                         /* c64 [..] -> f32 [..,2] */
OX_API ox_tensor *ox_view_as_complex(ox_tensor *x);                      /* f32 [..,2] -> c64 [..] */
OX_API ox_tensor *ox_real(ox_tensor *x);                                 /* c64 -> f32 */
OX_API ox_tensor *ox_imag(ox_tensor *x);
/* The same bytes as another dtype of the same width. */
OX_API ox_tensor *ox_view_dtype(ox_tensor *x, ox_dtype dtype);

/* Lists of views. Each writes up to `room` tensors to out and returns how many there are, -1 on error. */
OX_API int64_t ox_split(ox_tensor *x, int64_t size, int dim, ox_tensor **out, int64_t room);
/* The sizes add up to the dim's: OX_ERR_ARG otherwise. torch.split with a list. */
OX_API int64_t ox_split_with_sizes(ox_tensor *x, const int64_t *sizes, int64_t count, int dim,
                                   ox_tensor **out, int64_t room);
OX_API int64_t ox_chunk(ox_tensor *x, int64_t chunks, int dim, ox_tensor **out, int64_t room);
OX_API int64_t ox_unbind(ox_tensor *x, int dim, ox_tensor **out, int64_t room);

OX_EXTERN_C_END
#endif
