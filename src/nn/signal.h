/* Windows of signals (torch.signal.windows), and their spectra (torch.fft, torch.stft). Windows have `length`
 * elements; symmetric false is for spectra; dtype OX_DTYPE_NONE: the default one.
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

/* ---- spectra ------------------------------------------------------------------------------------------- */
OX_API ox_tensor *ox_fftshift(ox_tensor *x, ox_shape dims);
OX_API ox_tensor *ox_ifftshift(ox_tensor *x, ox_shape dims);
OX_API ox_tensor *ox_fftfreq(int64_t n, double d, ox_dtype dtype);
OX_API ox_tensor *ox_rfftfreq(int64_t n, double d, ox_dtype dtype);

/* Short-time transforms: windows of n_fft samples, `hop` apart, times window [window length <= n_fft] (NULL:
 * ones). x [.., samples] -> [.., frequencies, frames], c64. Zeros: hop n_fft / 4, window length n_fft.
 * center: frames are around their samples, the ends mirrored. normalized: over sqrt(n_fft). onesided: of real
 * samples, n_fft / 2 + 1 frequencies. */
typedef struct ox_stft_desc {
    int64_t hop;
    int64_t window_length;
    ox_tensor *window;
    bool center;
    bool normalized;
    bool onesided;
} ox_stft_desc;
OX_API ox_tensor *ox_stft(ox_tensor *x, int64_t n_fft, const ox_stft_desc *desc);
/* The samples, `length` of them (0: as many as there are); real where onesided. OX_ERR_ARG where windows
 * leave some samples out. */
OX_API ox_tensor *ox_istft(ox_tensor *x, int64_t n_fft, int64_t length, const ox_stft_desc *desc);

OX_EXTERN_C_END
#endif
