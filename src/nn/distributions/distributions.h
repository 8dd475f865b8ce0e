/* Distributions: those of torch.distributions, by its names and formulas. One is a kind and its parameters,
 * which broadcast; nothing is computed before it is asked for.
 *     ox_distribution normal = {OX_DISTRIBUTION_NORMAL, {mean, deviation}, 0};
 *     ox_tensor *loss = ox_neg(ox_distribution_log_prob(&normal, x));
 *
 * kind                  parameters
 * NORMAL LOG_NORMAL LAPLACE CAUCHY GUMBEL      location, scale
 * UNIFORM               low, high                 EXPONENTIAL POISSON     rate
 * BERNOULLI GEOMETRIC   probabilities, or NULL and logits
 * BINOMIAL              the same, of `count` trials
 * CATEGORICAL           probabilities [..,K] (they need not sum to 1), or NULL and logits; outcomes are i64
 * MULTINOMIAL           the same, outcomes are how often each of `count` came [..,K]
 * GAMMA                 concentration, rate       BETA                    concentration of 1, of 0
 * DIRICHLET             concentration [..,K]      STUDENT_T               degrees of freedom, location, scale
 * MULTIVARIATE_NORMAL   location [..,K], lower Cholesky factor of the covariance [..,K,K]
 *
 * dtypes    floats
 * numbers   of parameters are not looked at: those out of range give NaN, or what the formula gives
 * gradients of any order by value and parameters, but for samples of kinds without rsample
 * errors    OX_ERR_ARG no such kind, a parameter too few; OX_ERR_UNSUPPORTED what a kind does not have;
 *           OX_ERR_SHAPE, OX_ERR_DTYPE
 * source    torch.distributions; Marsaglia & Tsang 2000 (gamma), Hoermann 1993 (Poisson) */
#ifndef OX_NN_DISTRIBUTIONS_H
#define OX_NN_DISTRIBUTIONS_H

OX_EXTERN_C_BEGIN

typedef enum ox_distribution_kind {
    OX_DISTRIBUTION_NONE = 0,
    OX_DISTRIBUTION_NORMAL,
    OX_DISTRIBUTION_LOG_NORMAL,
    OX_DISTRIBUTION_UNIFORM,
    OX_DISTRIBUTION_EXPONENTIAL,
    OX_DISTRIBUTION_LAPLACE,
    OX_DISTRIBUTION_CAUCHY,
    OX_DISTRIBUTION_GUMBEL,
    OX_DISTRIBUTION_BERNOULLI,
    OX_DISTRIBUTION_GEOMETRIC,
    OX_DISTRIBUTION_BINOMIAL,
    OX_DISTRIBUTION_CATEGORICAL,
    OX_DISTRIBUTION_MULTINOMIAL,
    OX_DISTRIBUTION_POISSON,
    OX_DISTRIBUTION_GAMMA,
    OX_DISTRIBUTION_BETA,
    OX_DISTRIBUTION_DIRICHLET,
    OX_DISTRIBUTION_STUDENT_T,
    OX_DISTRIBUTION_MULTIVARIATE_NORMAL,
    OX_DISTRIBUTION_KINDS
} ox_distribution_kind;

typedef struct ox_distribution {
    ox_distribution_kind kind;
    ox_tensor *parameter[3];
    int64_t count; /* of BINOMIAL and MULTINOMIAL: trials */
} ox_distribution;

/* Independent samples: [shape.., batch.., event..]. sample: without gradients. rsample: with gradients by the
 * parameters, where the kind has them (NORMAL LOG_NORMAL UNIFORM EXPONENTIAL LAPLACE CAUCHY GUMBEL
 * MULTIVARIATE_NORMAL). GAMMA, BETA, DIRICHLET, STUDENT_T and POISSON are drawn in rounds, each of which
 * reads whether one is missing. */
OX_API ox_tensor *ox_distribution_sample(const ox_distribution *d, ox_shape shape);
OX_API ox_tensor *ox_distribution_rsample(const ox_distribution *d, ox_shape shape);
/* The logarithm of the density, or of the probability, of value: broadcast with the parameters. */
OX_API ox_tensor *ox_distribution_log_prob(const ox_distribution *d, ox_tensor *value);
OX_API ox_tensor *ox_distribution_entropy(
    const ox_distribution *d);                                    /* not of POISSON, (MULTI- and) BINOMIAL */
OX_API ox_tensor *ox_distribution_mean(const ox_distribution *d); /* not of CATEGORICAL; CAUCHY: NaN */
OX_API ox_tensor *ox_distribution_variance(const ox_distribution *d);
/* The Kullback-Leibler divergence of p from q, of one kind; not of STUDENT_T and MULTINOMIAL. */
OX_API ox_tensor *ox_distribution_kl(const ox_distribution *p, const ox_distribution *q);

/* ---- without a struct -------------------------------------------------------------------------------------
 * poisson - counts of the rates in x, of x's dtype and shape (torch.poisson).
 * trunc_normal_ - fills x with a normal distribution's numbers from low to high alone, by the inverse of its
 * integral; unrecorded, also of a leaf (torch.nn.init.trunc_normal_). OX_ERR_ARG deviation not above 0, low
 * not below high.
 * gumbel_softmax - softmax((logits + g) / tau) along dim, g of the Gumbel distribution; hard: 1 at the most
 * of it and 0 elsewhere, with the soft one's gradient (torch.nn.functional.gumbel_softmax; Jang et al. 2016).
 * */
OX_API ox_tensor *ox_poisson(ox_tensor *x);
OX_API ox_tensor *ox_trunc_normal_(ox_tensor *x, double mean, double deviation, double low, double high);
OX_API ox_tensor *ox_gumbel_softmax(ox_tensor *logits, double tau, bool hard, int dim);

OX_EXTERN_C_END
#endif
