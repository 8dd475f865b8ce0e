/* Numbers as integers of a scale and a zero point, and training as if they were: torch's quantize_per_tensor,
 * quantize_per_channel and fake_quantize functions. (Block types of files are dtypes: ox_cast.)
 *   q = min(max(round(x / scale) + zero_point, least), most);  x' = (q - zero_point) scale
 * round goes to the nearest, of two to the even one, of x times the f32 number nearest to 1 / scale, as in
 * torch.
 * dtypes    x floats; q i8, u8 or i32 (torch's qint8, quint8, qint32), an ordinary tensor: torch's has scale
 *           and zero point within
 * channels  scales [C] above 0 and zero_points [C], integers, of dim `axis` of x
 * errors    OX_ERR_DTYPE, OX_ERR_SHAPE, OX_ERR_DIM; OX_ERR_ARG a scale that is not above 0, a zero point that
 *           is no number of q (numbers are looked at, tensors are not)
 * source    torch.quantize_per_tensor ..; Jacob et al. 2018; Bengio et al. 2013, the straight-through
 *           estimate */
#ifndef OX_NN_QUANTIZE_H
#define OX_NN_QUANTIZE_H

OX_EXTERN_C_BEGIN

OX_API ox_tensor *ox_quantize_per_tensor(ox_tensor *x, double scale, int64_t zero_point, ox_dtype dtype);
OX_API ox_tensor *ox_quantize_per_channel(ox_tensor *x, ox_tensor *scales, ox_tensor *zero_points, int axis,
                                          ox_dtype dtype);
/* In f32. */
OX_API ox_tensor *ox_dequantize(ox_tensor *q, double scale, int64_t zero_point);
OX_API ox_tensor *ox_dequantize_per_channel(ox_tensor *q, ox_tensor *scales, ox_tensor *zero_points,
                                            int axis);

/* x' at once, in x's dtype. Its gradient is that of x where q was not cut at least or most, and 0 elsewhere;
 * scales and zero points have none. */
OX_API ox_tensor *ox_fake_quantize_per_tensor_affine(ox_tensor *x, double scale, int64_t zero_point,
                                                     int64_t least, int64_t most);
OX_API ox_tensor *ox_fake_quantize_per_channel_affine(ox_tensor *x, ox_tensor *scales, ox_tensor *zero_points,
                                                      int axis, int64_t least, int64_t most);

OX_EXTERN_C_END
#endif
