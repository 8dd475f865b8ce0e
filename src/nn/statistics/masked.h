/* Reductions, softmax and sums along a dim over what a mask lets see (torch.masked). mask: bool, of a shape
 * that broadcasts to x's; NULL lets all see. Elements that it hides count as the operation's identity.
 * errors    of shapes, dims and dtypes, as everywhere */
#ifndef OX_NN_MASKED_H
#define OX_NN_MASKED_H

OX_EXTERN_C_BEGIN

#define OX_MASKED_DIMS(X) X(sum) X(prod) X(amax) X(amin) X(mean) X(logsumexp)
#define OXI_X(name) \
    OX_API ox_tensor *ox_masked_##name(ox_tensor *x, ox_tensor *mask, ox_shape dims, bool keepdim);
OX_MASKED_DIMS(OXI_X)
#undef OXI_X
OX_API ox_tensor *ox_masked_var(ox_tensor *x, ox_tensor *mask, ox_shape dims, double correction,
                                bool keepdim);
OX_API ox_tensor *ox_masked_std(ox_tensor *x, ox_tensor *mask, ox_shape dims, double correction,
                                bool keepdim);
OX_API ox_tensor *ox_masked_norm(ox_tensor *x, ox_tensor *mask, double p, ox_shape dims, bool keepdim);
#define OX_MASKED_ALONG(X) X(softmax) X(log_softmax) X(softmin) X(cumsum) X(cumprod)
#define OXI_X(name) OX_API ox_tensor *ox_masked_##name(ox_tensor *x, ox_tensor *mask, int dim);
OX_MASKED_ALONG(OXI_X)
#undef OXI_X
OX_API ox_pair ox_masked_median(ox_tensor *x, ox_tensor *mask, int dim, bool keepdim);

OX_EXTERN_C_END
#endif
