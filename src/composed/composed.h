/* Functions that are made of other functions. They run wherever those run, any strides, and their gradients
 * are those of their parts. Names and meaning are PyTorch's; where it says it differently, the comment tells.
 * errors    of shapes, dims and dtypes, as everywhere; OX_ERR_ARG for numbers that make no sense */
#ifndef OX_COMPOSED_H
#define OX_COMPOSED_H

OX_EXTERN_C_BEGIN

/* Several results of one call, in the order of the comment; those that it has not are NULL, all on error. */
typedef struct ox_tuple { ox_tensor *t[4]; } ox_tuple;

/* ---- elementwise --------------------------------------------------------------------------------------- */
/* sgn x/|x|, of real numbers sign   signbit bool, of -0 true   isreal bool   fmax fmin: NaN loses
 * complex a + b i, polar a e^(b i): c64, also of f64 */
/* clang-format off */
#define OX_COMPOSED_1(X) X(sgn) X(signbit) X(isreal)
#define OX_COMPOSED_2(X) X(fmax) X(fmin) X(complex) X(polar)
/* clang-format on */
#define OXI_X(name) OX_API ox_tensor *ox_##name(ox_tensor *x);
OX_COMPOSED_1(OXI_X)
#undef OXI_X
#define OXI_X(name) OX_API ox_tensor *ox_##name(ox_tensor *a, ox_tensor *b);
OX_COMPOSED_2(OXI_X)
#undef OXI_X
OX_API ox_tensor *ox_isclose(ox_tensor *a, ox_tensor *b, double rtol, double atol, bool equal_nan);

OX_EXTERN_C_END
#endif
