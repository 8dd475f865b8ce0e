/* Windows of signals: torch.signal.windows. length elements; symmetric false is for spectra; dtype
 * OX_DTYPE_NONE: the default one.
 * errors    OX_ERR_ARG for lengths below 0, dtypes without fractions, numbers that make no sense */
#ifndef OX_NN_SIGNAL_H
#define OX_NN_SIGNAL_H

OX_EXTERN_C_BEGIN

OX_API ox_tensor *ox_window_hann(int64_t length, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_hamming(int64_t length, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_blackman(int64_t length, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_nuttall(int64_t length, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_bartlett(int64_t length, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_cosine(int64_t length, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_general_cosine(int64_t length, const double *a, int count, bool symmetric,
                                           ox_dtype dtype);
OX_API ox_tensor *ox_window_gaussian(int64_t length, double deviation, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_exponential(int64_t length, double center, double tau, bool symmetric,
                                        ox_dtype dtype);
OX_API ox_tensor *ox_window_kaiser(int64_t length, double beta, bool symmetric, ox_dtype dtype);

OX_EXTERN_C_END
#endif
