/* Linear algebra (torch.linalg): matrices in the last two dims, leading dims are a batch and broadcast where
 * two operands meet.
 * dtypes    f32, f64 and c64; values of eigh and svd are real. eig gives c64
 * numerics  everything is computed in f64, f32 is rounded once. LU with partial pivoting, Householder QR,
 *           divide and conquer for symmetric eigenvalues, one-sided Jacobi for singular values, shifted QR
 *           for general eigenvalues, whose order is that in which they are found; residuals of a small
 *           multiple of eps times the matrix's size (tests/test_linalg.c)
 * gradients all but geqrf. Of vectors only what does not depend on their signs, phases and order; of values
 *           that are the same the vectors have none
 * errors    OX_ERR_ARG for matrices that are singular (solve, inv), not positive definite (cholesky), not
 *           finite (eigh, svd, eig); OX_ERR_SHAPE, OX_ERR_DTYPE
 * devices   the CPU computes it for tensors of a GPU too
 * OX_NO_LINALG leaves the computations out: the functions say OX_ERR_UNSUPPORTED then */
#ifndef OX_LINALG_H
#define OX_LINALG_H

OX_EXTERN_C_BEGIN

/* ---- systems ------------------------------------------------------------------------------------------- */
/* x with a x = b. b [.., N, K], or a vector (a batch of them: with one dim less than a); left false:
 * x a = b */
OX_API ox_tensor *ox_solve(ox_tensor *a, ox_tensor *b, bool left);
OX_API ox_tensor *ox_solve_triangular(ox_tensor *a, ox_tensor *b, bool upper, bool left, bool unitriangular);
OX_API ox_tensor *ox_inv(ox_tensor *x);
OX_API ox_tensor *ox_det(ox_tensor *x);
/* Pseudo-inverse; singular values up to max(atol, rtol largest) count as 0; rtol -1: max(M, N) eps, or 0
 * where atol is given. hermitian: the lower triangle counts. */
OX_API ox_tensor *ox_pinv(ox_tensor *x, double atol, double rtol, bool hermitian);

/* ---- factors ------------------------------------------------------------------------------------------- */
OX_API ox_tensor *ox_cholesky(ox_tensor *x, bool upper);    /* reads whether it is there: OX_ERR_ARG */
/* The same, and i32: 0, or the order of the minor that is not positive. */
OX_API ox_tuple ox_cholesky_ex(ox_tensor *x, bool upper);
OX_API ox_tuple ox_lu_factor(ox_tensor *x, bool pivot);      /* L and U in one, pivots (i32, from 1) */
OX_API ox_tuple ox_qr(ox_tensor *x, const char *mode);      /* Q, R; mode "reduced" (NULL), "complete", "r" */
OX_API ox_tuple ox_geqrf(ox_tensor *x); /* R and reflectors below it, their factors tau */
OX_API ox_tuple ox_eigh(ox_tensor *x, bool upper);          /* values rising, vectors in columns */
OX_API ox_tensor *ox_eigvalsh(ox_tensor *x, bool upper);
OX_API ox_tuple ox_eig(ox_tensor *x);                       /* values, vectors in columns: c64 */
OX_API ox_tensor *ox_eigvals(ox_tensor *x);
OX_API ox_tuple ox_svd(ox_tensor *x, bool full_matrices);   /* U, S falling, V^T: x = U S V^T */
OX_API ox_tensor *ox_svdvals(ox_tensor *x);

OX_EXTERN_C_END
#endif
