/* Linear algebra that is made of the factors of linalg.h: matrices in the last two dims, leading dims a
 * batch.
 * dtypes    f32 and f64; c64 too for systems, norms, powers and functions
 * gradients through the factors: where singular values or eigenvalues are the same there are none
 * errors    as those of linalg.h; OX_ERR_SHAPE, OX_ERR_ARG
 * source    torch.linalg.polar, torch.linalg.matrix_sqrth, torch.svd_lowrank, torch.pca_lowrank; Halko et al.
 *           2011 */
#ifndef OX_NN_ALGEBRA_H
#define OX_NN_ALGEBRA_H

OX_EXTERN_C_BEGIN

/* x [..,M,N], M >= N: U with orthonormal columns and H symmetric, not below 0, of which x is the product
 * (ox_polar is another function: complex numbers of a length and an angle). */
OX_API ox_tuple ox_linalg_polar(ox_tensor *x);
/* The symmetric root of a symmetric matrix that is not below 0; its lower triangle counts. */
OX_API ox_tensor *ox_matrix_sqrth(ox_tensor *x);

/* ox_svd_lowrank - U [..,M,q], S [..,q], V [..,N,q] so that U S V^T is near x less shift (NULL: 0): by
 * products with q random vectors and `rounds` refinements (torch: q 6, niter 2). Exact for ranks up to q.
 * ox_pca_lowrank - the same of x less the mean of its columns, if center; q 0 = min(6, M, N). */
OX_API ox_tuple ox_svd_lowrank(ox_tensor *x, int64_t q, int64_t rounds, ox_tensor *shift);
OX_API ox_tuple ox_pca_lowrank(ox_tensor *x, int64_t q, bool center, int64_t rounds);

/* ox_ldl_factor - of a symmetric matrix, whose lower triangle counts, x = P L D L^T P^T: L with ones on its
 * diagonal below blocks D of one or two rows, in one matrix [..,N,N], and pivots i32 [..,N] from 1, of both
 * rows of a block of two below 0 (LAPACK's sytrf). ldl_factor refuses (OX_ERR_ARG) a D with a row of 0;
 * ldl_factor_ex gives, as the third, the first such row from 1, or 0: i32 [..].
 * ox_ldl_solve - X of x X = b from these, b [..,N,K]; leading dims broadcast. Pivots that lead out of the
 * matrix: OX_ERR_INDEX. Real matrices: torch's `hermitian` changes nothing. No gradients, as in torch; on the
 * CPU in f64.
 * source    torch.linalg.ldl_factor, ldl_factor_ex, ldl_solve */
OX_API ox_tuple ox_ldl_factor(ox_tensor *x);
OX_API ox_tuple ox_ldl_factor_ex(ox_tensor *x);
OX_API ox_tensor *ox_ldl_solve(ox_tensor *ld, ox_tensor *pivots, ox_tensor *b);

/* ---- of systems and factors ---------------------------------------------------------------------------- */
OX_API ox_tuple ox_slogdet(ox_tensor *x);                    /* sign, log of the absolute value */
OX_API ox_tensor *ox_logdet(ox_tensor *x);                  /* NaN where it is real and below 0 */
/* Least squares: (solution, residuals, rank, singular values of a); singular values below rcond times the
 * largest count as 0 (-1: max(M, N) eps). Residuals are empty where a has not full rank or M <= N. */
OX_API ox_tuple ox_lstsq(ox_tensor *a, ox_tensor *b, double rcond);
/* Tolerances as of ox_pinv. */
OX_API ox_tensor *ox_matrix_rank(ox_tensor *x, double atol, double rtol, bool hermitian);
OX_API ox_tensor *ox_cholesky_solve(ox_tensor *b, ox_tensor *l, bool upper);
OX_API ox_tensor *ox_cholesky_inverse(ox_tensor *l, bool upper);
OX_API ox_tuple ox_lu(ox_tensor *x, bool pivot);            /* P, L, U */
OX_API ox_tuple ox_lu_unpack(ox_tensor *lu, ox_tensor *pivots);
OX_API ox_tensor *ox_lu_solve(ox_tensor *lu, ox_tensor *pivots, ox_tensor *b, bool left, bool adjoint);
/* Of what ox_geqrf gives: the first columns of the product of the reflectors. */
OX_API ox_tensor *ox_householder_product(ox_tensor *x, ox_tensor *tau);
/* Q other or (left false) other Q; transpose: of Q^H */
OX_API ox_tensor *ox_ormqr(ox_tensor *x, ox_tensor *tau, ox_tensor *other, bool left, bool transpose);

/* ---- norms, powers, functions -------------------------------------------------------------------------- */
/* order "fro" "nuc", or NULL for p: 1 -1 2 -2 INFINITY -INFINITY; over dims[0], dims[1] */
OX_API ox_tensor *ox_matrix_norm(ox_tensor *x, const char *order, double p, ox_shape dims, bool keepdim);
OX_API ox_tensor *ox_cond(ox_tensor *x, const char *order, double p);
OX_API ox_tensor *ox_matrix_power(ox_tensor *x, int64_t n); /* below 0: of the inverse */
OX_API ox_tensor *ox_matrix_exp(ox_tensor *x);
OX_API ox_tensor *ox_tensorinv(ox_tensor *x, int ind);      /* the first ind dims against the others */
OX_API ox_tensor *ox_tensorsolve(ox_tensor *a, ox_tensor *b, ox_shape dims);

/* ---- products that are made of others, of any dtype ---------------------------------------------------- */
/* ox_einsum - sums of products by index letters: "bij,bjk->bik", "ii->i", "...ij->...ji"; without "->"
 * letters that occur once, in alphabetical order. Pairs are contracted left to right by matmul.
 * dtypes    those of matmul, and bool where nothing is summed over; the result has the operands', but i64
 *           where a letter of one integer operand alone is summed over
 * source    torch.einsum */
OX_API ox_tensor *ox_einsum(const char *equation, ox_tensor *const *list, int count);
OX_API ox_tensor *ox_kron(ox_tensor *a, ox_tensor *b);
OX_API ox_tensor *ox_cross(ox_tensor *a, ox_tensor *b, int dim);
OX_API ox_tensor *ox_vander(ox_tensor *x, int64_t columns, bool increasing);
OX_API ox_tensor *ox_bilinear(ox_tensor *a, ox_tensor *b, ox_tensor *weight, ox_tensor *bias);
OX_API ox_tensor *ox_multi_dot(ox_tensor *const *list, int count);      /* in the cheapest order */
/* Of a list: blocks along a diagonal; each with each, a row a choice; r of one at a time. */
OX_API ox_tensor *ox_block_diag(ox_tensor *const *list, int count);
OX_API ox_tensor *ox_cartesian_prod(ox_tensor *const *list, int count);
OX_API ox_tensor *ox_combinations(ox_tensor *x, int r, bool with_replacement);

OX_EXTERN_C_END
#endif
