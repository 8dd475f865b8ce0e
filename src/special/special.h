/* Special functions (torch.special). dtypes as of exp: integers and bool give f32; every one is computed in
 * double and rounded once, on the CPU also for tensors of a GPU.
 * numerics  relative 1e-14 in f64 (polynomials, igamma: 1e-12), where the function is not near a zero
 * OX_NO_SPECIAL leaves the computations out: the functions say OX_ERR_UNSUPPORTED then */
#ifndef OX_SPECIAL_H
#define OX_SPECIAL_H

OX_EXTERN_C_BEGIN

/* lgamma log|Gamma(x)|   digamma its derivative   erfinv   erfcx e^(x x) erfc(x)
 * ndtr the normal distribution up to x, log_ndtr its log, ndtri its inverse   entr -x log(x)
 * i0 i1 modified Bessel functions, i0e i1e times e^-|x|; K: modified_bessel_k0 .., scaled ones times e^x
 * bessel_j0 j1 y0 y1   spherical_bessel_j0 sin(x)/x   airy_ai */
/* clang-format off */
#define OX_SPECIAL_1(X) \
    X(lgamma) X(digamma) X(erfinv) X(erfcx) X(ndtri) X(log_ndtr) X(i0) X(i0e) X(i1) X(i1e) X(bessel_j0) \
    X(bessel_j1) X(bessel_y0) X(bessel_y1) X(modified_bessel_k0) X(modified_bessel_k1) \
    X(scaled_modified_bessel_k0) X(scaled_modified_bessel_k1) X(spherical_bessel_j0) X(airy_ai)
#define OX_SPECIAL_COMPOSED(X) X(ndtr) X(entr)
/* zeta(s, q) sum of (k + q)^-s   igamma(a, x), igammac: the regularized incomplete gamma functions
 * polynomials of x and degree n, of which the whole part counts */
#define OX_SPECIAL_2(X) \
    X(zeta) X(igamma) X(igammac) X(chebyshev_polynomial_t) X(chebyshev_polynomial_u) \
    X(chebyshev_polynomial_v) X(chebyshev_polynomial_w) X(shifted_chebyshev_polynomial_t) \
    X(shifted_chebyshev_polynomial_u) X(shifted_chebyshev_polynomial_v) X(shifted_chebyshev_polynomial_w) \
    X(hermite_polynomial_h) X(hermite_polynomial_he) X(laguerre_polynomial_l) X(legendre_polynomial_p)
/* clang-format on */
#define OXI_X(name) OX_API ox_tensor *ox_##name(ox_tensor *x);
OX_SPECIAL_1(OXI_X) OX_SPECIAL_COMPOSED(OXI_X)
#undef OXI_X
#define OXI_X(name) OX_API ox_tensor *ox_##name(ox_tensor *a, ox_tensor *b);
OX_SPECIAL_2(OXI_X)
#undef OXI_X
OX_API ox_tensor *ox_polygamma(int64_t n, ox_tensor *x);    /* the nth derivative of digamma */
OX_API ox_tensor *ox_mvlgamma(ox_tensor *x, int64_t p);     /* log of the multivariate gamma function */

OX_EXTERN_C_END
#endif
