/* Statistics, histograms, differences, distances, made of other functions. Names and meaning are PyTorch's.
 * errors    of shapes, dims and dtypes, as everywhere; OX_ERR_ARG for numbers that make no sense */
#ifndef OX_NN_STATISTICS_H
#define OX_NN_STATISTICS_H

OX_EXTERN_C_BEGIN

OX_API ox_tensor *ox_nanmean(ox_tensor *x, ox_shape dims, bool keepdim);
/* x [variables, observations]; counts (fweights) and weights (aweights) [observations], or NULL */
OX_API ox_tensor *ox_cov(ox_tensor *x, int64_t correction, ox_tensor *counts, ox_tensor *weights);
OX_API ox_tensor *ox_diff(ox_tensor *x, int64_t times, int dim, ox_tensor *before, ox_tensor *after);
/* torch.gradient of one dim. spacing NULL is 1, or a number, or the places [n]. */
OX_API ox_tensor *ox_gradient_along(ox_tensor *x, ox_tensor *spacing, int dim, int edge_order);
OX_API ox_tensor *ox_trapezoid(ox_tensor *y, ox_tensor *x, double dx, int dim);         /* x NULL: dx apart */
OX_API ox_tensor *ox_cumulative_trapezoid(ox_tensor *y, ox_tensor *x, double dx, int dim);
OX_API ox_tensor *ox_dist(ox_tensor *a, ox_tensor *b, double p);
OX_API ox_tensor *ox_cdist(ox_tensor *a, ox_tensor *b, double p); /* from differences, never from products */
OX_API ox_tensor *ox_pdist(ox_tensor *x, double p);
OX_API ox_tensor *ox_renorm(ox_tensor *x, double p, int dim, double most);
OX_API ox_tensor *ox_normalize(ox_tensor *x, double p, int dim, double eps);
OX_API ox_tensor *ox_corrcoef(ox_tensor *x); /* x [variables, observations] */
/* q: a number or a vector of them, of x's dtype; interpolation "linear" (NULL) lower higher nearest
 * midpoint */
OX_API ox_tensor *ox_quantile(ox_tensor *x, ox_tensor *q, int dim, bool keepdim, const char *interpolation);
OX_API ox_tensor *ox_nanquantile(ox_tensor *x, ox_tensor *q, int dim, bool keepdim,
                                 const char *interpolation);

/* ---- histograms, and one of a sorted line -------------------------------------------------------------- */
OX_API ox_tensor *ox_bincount(ox_tensor *x, ox_tensor *weights, int64_t least);
OX_API ox_tensor *ox_histc(ox_tensor *x, int64_t bins, double low, double high);
OX_API ox_tuple ox_histogram(ox_tensor *x, ox_tensor *edges, ox_tensor *weights,
                             bool density); /* and edges */
OX_API ox_pair ox_kthvalue(ox_tensor *x, int64_t k, int dim, bool keepdim);
OX_API ox_pair ox_median(ox_tensor *x, int dim, bool keepdim); /* dim OX_FLATTENED: of all elements */
OX_API ox_pair ox_nanmedian(ox_tensor *x, int dim, bool keepdim);
OX_API ox_pair ox_mode(ox_tensor *x, int dim, bool keepdim); /* of equally frequent ones the smallest */

OX_EXTERN_C_END
#endif
