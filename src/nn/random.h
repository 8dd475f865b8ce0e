/* Numbers drawn in place, and what drops at random. x's numbers become those of a distribution.
 * errors    OX_ERR_ARG for parameters that no distribution has; OX_ERR_SHAPE */
#ifndef OX_NN_RANDOM_H
#define OX_NN_RANDOM_H

OX_EXTERN_C_BEGIN

OX_API ox_tensor *ox_exponential_(ox_tensor *x, double rate);
OX_API ox_tensor *ox_cauchy_(ox_tensor *x, double median, double scale);
OX_API ox_tensor *ox_log_normal_(ox_tensor *x, double mean, double deviation);
OX_API ox_tensor *ox_geometric_(ox_tensor *x, double p);    /* how often until something of probability p */
/* ox_dropout of whole channels (dim 1); alpha: for selu, which keeps mean and variance */
OX_API ox_tensor *ox_feature_dropout(ox_tensor *x, double p, bool training);
OX_API ox_tensor *ox_alpha_dropout(ox_tensor *x, double p, bool training);
OX_API ox_tensor *ox_feature_alpha_dropout(ox_tensor *x, double p, bool training);

OX_EXTERN_C_END
#endif
