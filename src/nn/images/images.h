/* Images: padding, resampling, and what goes with convolutions and pooling. torch.nn.functional's by name and
 * meaning. All are made of other functions: any strides, any device, gradients of any order.
 * shapes    x [N,C,..] of one to three spatial dims; [C,..] where the comment says so
 * dtypes    floats where numbers are weighted (f16 and bf16 in f32, rounded once), else all that ox_cat and
 *           ox_index_select take
 * errors    OX_ERR_SHAPE, OX_ERR_DTYPE; OX_ERR_ARG sizes, scales and modes that make no sense
 * source    the functions of the same names in torch.nn.functional */
#ifndef OX_NN_IMAGES_H
#define OX_NN_IMAGES_H

OX_EXTERN_C_BEGIN

/* ox_pad - x with more at its ends: pad = {before, behind} of the last dim, then of the one before it ..;
 * below 0 takes away. mode "constant" (NULL): value; "reflect": mirrored without the edge, "replicate": the
 * edge, "circular": the other end. These three pad up to three spatial dims of [N,C,..] or [C,..].
 * errors    OX_ERR_ARG more pairs than dims, a mirror or circle longer than x */
OX_API ox_tensor *ox_pad(ox_tensor *x, const int64_t *pad, int64_t count, const char *mode, double value);

/* ox_interpolate - x [N,C,..] resampled to `size` (a number for all spatial dims, or one each), or to scale
 * times its own where size is OX_SCALAR_SHAPE; scale_count is 1 or the number of dims, 0 with a size.
 * mode "nearest" (NULL) as OpenCV's, "nearest-exact" as Pillow's, "linear" (3-d x), "bilinear" and "bicubic"
 * (4-d), "trilinear" (5-d), "area". align_corners: first and last elements meet; of the linear and cubic ones
 * alone. recompute: the scale is that of the sizes, not the one that was given.
 * "bilinear-antialias", "bicubic-antialias": torch's antialias, a filter as wide as the scale where x
 * shrinks. */
OX_API ox_tensor *ox_interpolate(ox_tensor *x, ox_shape size, const double *scale, int scale_count,
                                 const char *mode, bool align_corners, bool recompute);

/* ox_grid_sample - x [N,C,H,W] read at grid [N,h,w,2], places (x, y) from -1 to 1, -> [N,C,h,w]; or
 * [N,C,D,H,W] at [N,d,h,w,3]. mode "bilinear" (NULL; of 5-d x trilinear), "nearest", "bicubic" (4-d x).
 * padding "zeros" (NULL), "border", "reflection": what lies outside. align_corners: -1 and 1 are the centers
 * of the outermost elements, else their outer edges. Gradients of x and, but for "nearest", of grid.
 * ox_affine_grid - such a grid for ox_grid_sample from theta [N,2,3] and size [N,C,H,W], or [N,3,4] and
 * [N,C,D,H,W]. */
OX_API ox_tensor *ox_grid_sample(ox_tensor *x, ox_tensor *grid, const char *mode, const char *padding,
                                 bool align_corners);
OX_API ox_tensor *ox_affine_grid(ox_tensor *theta, ox_shape size, bool align_corners);

/* pixel_shuffle [..,C r r,H,W] -> [..,C,H r,W r], pixel_unshuffle back; channel_shuffle [N,C,..]: the groups
 * of channels interleaved. */
OX_API ox_tensor *ox_pixel_shuffle(ox_tensor *x, int64_t factor);
OX_API ox_tensor *ox_pixel_unshuffle(ox_tensor *x, int64_t factor);
OX_API ox_tensor *ox_channel_shuffle(ox_tensor *x, int64_t groups);

/* ox_lp_pool2d - (sum x^p)^(1/p) of each window, as ox_avg_pool2d: sizes of one or two numbers, an empty
 * stride is the kernel. torch's sign(sum) |sum|^(1/p).
 * ox_max_unpool2d - zeros with x where ox_max_pool2d_with_indices found it: kernel, stride, padding as there;
 * `size` the spatial dims of the result where these leave a choice, OX_SCALAR_SHAPE for the smallest.
 * ox_fractional_max_pool2d - the largest of windows whose places are drawn: kernel and size of the result as
 * OX_DIMS; samples [N,C,2] (of 3-d x: [N,C,3]) in [0, 1), one a dim. With where it is (Graham 2015).
 * Likewise of the other numbers of spatial dims. x [N,C,..] or [C,..]. */
OX_API ox_tensor *ox_lp_pool1d(ox_tensor *x, double p, ox_shape kernel, ox_shape stride, bool ceil);
OX_API ox_tensor *ox_max_unpool1d(ox_tensor *x, ox_tensor *indices, ox_shape kernel, ox_shape stride,
                                  ox_shape padding, ox_shape size);
OX_API ox_tensor *ox_lp_pool2d(ox_tensor *x, double p, ox_shape kernel, ox_shape stride, bool ceil);
OX_API ox_tensor *ox_max_unpool2d(ox_tensor *x, ox_tensor *indices, ox_shape kernel, ox_shape stride,
                                  ox_shape padding, ox_shape size);
OX_API ox_tensor *ox_lp_pool3d(ox_tensor *x, double p, ox_shape kernel, ox_shape stride, bool ceil);
OX_API ox_tensor *ox_max_unpool3d(ox_tensor *x, ox_tensor *indices, ox_shape kernel, ox_shape stride,
                                  ox_shape padding, ox_shape size);
OX_API ox_pair ox_fractional_max_pool2d(ox_tensor *x, ox_shape kernel, ox_shape size, ox_tensor *samples);
OX_API ox_pair ox_fractional_max_pool3d(ox_tensor *x, ox_shape kernel, ox_shape size, ox_tensor *samples);

/* x / (k + alpha mean(x x))^beta over `size` channels around each of x [N,C,..]. torch's alpha is 1e-4, beta
 * 0.75, k 1. Krizhevsky et al. 2012 */
OX_API ox_tensor *ox_local_response_norm(ox_tensor *x, int64_t size, double alpha, double beta, double k);

OX_EXTERN_C_END
#endif
