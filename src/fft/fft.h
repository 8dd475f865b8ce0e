/* Fourier transforms (torch.fft): of any length, in f32.
 * dtypes    c64, real numbers are taken as c64; rfft, ihfft of real numbers give c64; irfft, hfft give f32.
 *           f64 gives c64 too, where torch gives c128, which is no dtype here
 * n, sizes  the length along the dim: cut, or filled with zeros; 0 as it is. irfft, hfft: of the result; 0
 *           for 2 (size - 1). OX_ALL_DIMS for none
 * dims      OX_ALL_DIMS: all, with sizes the last ones; transforms in two dims take the last two
 * norm      "backward" (NULL): 1/n on the way back, "forward", "ortho"
 * errors    OX_ERR_ARG no elements to transform, an unknown norm; OX_ERR_DTYPE complex for rfft, ihfft
 * devices   the CPU computes it for tensors of a GPU too
 * OX_NO_FFT leaves the computations out: the functions say OX_ERR_UNSUPPORTED then */
#ifndef OX_FFT_H
#define OX_FFT_H

OX_EXTERN_C_BEGIN

#define OX_FFT(X) X(fft) X(ifft) X(rfft) X(irfft) X(hfft) X(ihfft)
#define OXI_X(name) OX_API ox_tensor *ox_##name(ox_tensor *x, int64_t n, int dim, const char *norm);
OX_FFT(OXI_X)
#undef OXI_X
#define OXI_X(name) \
    OX_API ox_tensor *ox_##name##2(ox_tensor *x, ox_shape sizes, ox_shape dims, const char *norm);
OX_FFT(OXI_X)
#undef OXI_X
#define OXI_X(name) \
    OX_API ox_tensor *ox_##name##n(ox_tensor *x, ox_shape sizes, ox_shape dims, const char *norm);
OX_FFT(OXI_X)
#undef OXI_X

OX_EXTERN_C_END
#endif
