/* Sparse tensors, and sums of rows that are picked: torch's COO and CSR layouts as values of three tensors.
 *     ox_sparse s = ox_to_sparse(x, 0);
 *     ox_tensor *y = ox_sparse_mm(&s, dense);
 * COO       indices i64 [sparse dims, count], values [count, ..]; dims of values behind the first are dense
 * CSR       pointers i64 [rows + 1], indices i64 [count] (columns, row by row), values [count]; matrices
 * memory    the tensors belong to the scope, as results do; a product makes count rows of the dense operand
 * dtypes    values of all that ox_index_add takes
 * gradients of any order by values and dense operands: all is made of ox_index_select and ox_index_add.
 *           ox_requires_grad_ is asked of values, or of what was dense before
 * devices   where the tensors are
 * errors    OX_ERR_SHAPE, OX_ERR_DTYPE; OX_ERR_INDEX where indices lie outside. Then values is NULL, and
 *           such a value is refused without another error
 * source    torch.sparse */
#ifndef OX_NN_SPARSE_H
#define OX_NN_SPARSE_H

OX_EXTERN_C_BEGIN

typedef struct ox_sparse {
    ox_tensor *values, *indices;
    ox_tensor *pointers;             /* NULL: COO */
    ox_shape shape;                  /* of the whole */
    bool coalesced;                  /* COO: indices are sorted, and no two are the same */
} ox_sparse;

/* shape may be OX_SCALAR_SHAPE for COO: the least that holds the indices, which are read. */
OX_API ox_sparse ox_sparse_coo_tensor(ox_tensor *indices, ox_tensor *values, ox_shape shape);
OX_API ox_sparse ox_sparse_csr_tensor(ox_tensor *pointers, ox_tensor *columns, ox_tensor *values,
                                      ox_shape shape);
/* What is not 0 of x, or of its first `sparse_dims` dims what is not 0 everywhere (0: all dims). */
OX_API ox_sparse ox_to_sparse(ox_tensor *x, int sparse_dims);
OX_API ox_sparse ox_to_sparse_csr(ox_tensor *x);
OX_API ox_tensor *ox_to_dense(const ox_sparse *s);
OX_API ox_sparse ox_sparse_to_coo(const ox_sparse *s);
OX_API ox_sparse ox_sparse_to_csr(const ox_sparse *s);      /* of a matrix */
OX_API ox_sparse ox_sparse_coalesce(const ox_sparse *s);    /* sorted; equal indices are added up. COO */
OX_API ox_sparse ox_sparse_t(const ox_sparse *s);           /* of a matrix; COO */

OX_API ox_sparse ox_sparse_add(const ox_sparse *a, const ox_sparse *b);      /* coalesced COO */
OX_API ox_sparse ox_sparse_mul_number(const ox_sparse *s, double factor);
OX_API ox_tensor *ox_sparse_sum(const ox_sparse *s);
/* s [M,K] times dense [K,N] or [K]; and beta c + alpha s dense */
OX_API ox_tensor *ox_sparse_mm(const ox_sparse *s, ox_tensor *dense);
OX_API ox_tensor *ox_sparse_addmm(ox_tensor *c, const ox_sparse *s, ox_tensor *dense, double beta,
                                  double alpha);
/* beta s + alpha a b where s has values: a [M,K], b [K,N]. In the layout of s. */
OX_API ox_sparse ox_sparse_sampled_addmm(const ox_sparse *s, ox_tensor *a, ox_tensor *b, double beta,
                                         double alpha);
/* Of a matrix's rows (dim 1) or columns (dim 0): what is not there counts as -inf. Coalesced COO. */
OX_API ox_sparse ox_sparse_softmax(const ox_sparse *s, int dim);
OX_API ox_sparse ox_sparse_log_softmax(const ox_sparse *s, int dim);

/* ox_embedding_bag - rows of table [V,D] by ids, added up in bags: ids [B,L] a bag a row; or ids [n] and
 * offsets [B], where each bag begins (the last ends with ids; has_end: offsets has one more, the end). mode
 * "mean" (NULL), "sum" or "max"; weights as ids, or NULL: of sums alone. Ids that are `padding` do not count
 * (below 0: none is). Empty bags are 0. -> [B,D]. Offsets are read.
 * source    torch.nn.functional.embedding_bag, without max_norm */
OX_API ox_tensor *ox_embedding_bag(ox_tensor *ids, ox_tensor *table, ox_tensor *offsets, const char *mode,
                                   ox_tensor *weights, bool has_end, int64_t padding);

/* How many of x [..,D] lie between edges[d] of each dim (1-d, rising; the last cell holds its end), each with
 * a weight [..] or 1; density: divided by their sum and the cells' volumes. source torch.histogramdd */
OX_API ox_tensor *ox_histogramdd(ox_tensor *x, ox_tensor *const *edges, int count, ox_tensor *weights,
                                 bool density);

OX_EXTERN_C_END
#endif
