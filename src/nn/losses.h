/* Losses: torch.nn.functional's by name and meaning, and the two distances that some of them are made of.
 * All are made of other operations: they run where their operands are, and have gradients and gradients of
 * gradients, by the target too where PyTorch has them.
 * operands  any strides, any device; input and target broadcast where the comment does not say otherwise; a
 *           weight NULL is 1 everywhere
 * dtypes    floats, promoted; targets that are classes: i64, i32 and what casts to them without loss
 * shapes    the loss is a number of no dims, with OX_LOSS_NONE it has the shape of its terms
 * numerics  products with log are taken through log_softmax and logsigmoid, which neither overflow nor cancel
 * errors    OX_ERR_ARG a reduction that does not exist; OX_ERR_SHAPE; OX_ERR_DTYPE; OX_ERR_NOMEM
 * source    the functions of the same names in torch.nn.functional */
#ifndef OX_NN_LOSSES_H
#define OX_NN_LOSSES_H

OX_EXTERN_C_BEGIN

/* What becomes of a loss's terms. */
typedef enum ox_loss_reduction {
    OX_LOSS_MEAN = 0,
    OX_LOSS_SUM,
    OX_LOSS_NONE,
    OX_LOSS_BATCHMEAN                /* the sum / the size of dim 0: of kl_div alone */
} ox_loss_reduction;

/* ---- of numbers: d = input - target -----------------------------------------------------------------------
 * mse_loss d d                      l1_loss |d|
 * huber_loss |d| < delta ? d d / 2 : delta (|d| - delta / 2)            torch's delta is 1; above 0
 * smooth_l1_loss the same with beta for delta, divided by beta          torch's beta is 1; 0: l1_loss */
OX_API ox_tensor *ox_mse_loss(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction);
OX_API ox_tensor *ox_l1_loss(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction);
OX_API ox_tensor *ox_huber_loss(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction,
                                double delta);
OX_API ox_tensor *ox_smooth_l1_loss(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction,
                                    double beta);

/* ---- of classes ---------------------------------------------------------------------------------------- */

/* ox_cross_entropy - of unnormalized logits and the class that is right, or the probabilities of all.
 *   term = -weight[target] log_softmax(input)[target], or -sum_c weight[c] target[c] log_softmax(input)[c]
 * shapes    input [C], [N,C] or [N,C,d1,..]; target of classes: the same without the C, integers; of
 *           probabilities: as input, floats
 * mean      over what is not ignored, weighted by weight[target]; of probabilities over all N d1 .. positions
 * errors    OX_ERR_INDEX a target that is neither a class nor ignored; OX_ERR_DTYPE classes that are floats,
 *           probabilities that are not; OX_ERR_ARG label_smoothing not in [0, 1], an ignore_index beside
 *           probabilities
 * source    torch.nn.functional.cross_entropy; label smoothing: Szegedy et al. 2016 */
typedef struct ox_cross_entropy_desc {
    ox_tensor *weight;               /* [C] of the classes, or NULL */
    ox_loss_reduction reduction;
    bool ignores;                    /* ignore_index is set; false: it is -100, as in torch */
    int64_t ignore_index;            /* of targets that do not count: their terms are 0, means omit them */
    double label_smoothing;          /* this part of each target's 1 is spread over all C classes */
} ox_cross_entropy_desc;             /* all zeros, or NULL for it: torch's defaults */
OX_API ox_tensor *ox_cross_entropy(ox_tensor *input, ox_tensor *target, const ox_cross_entropy_desc *desc);

/* The same of linear(x, layer, bias): x [..,D], layer [C,D], bias [C] or NULL, target [..] of classes or
 * [..,C]; with more dims of the layer, [C,d1..,D], of bias [C,d1..] and targets [..,d1..] or [..,C,d1..].
 * Logits are made of some rows at a time, on the way back once more, and never kept: memory grows with N + C
 * D (d1.. times that of targets).
 * source    torch.nn.functional.linear_cross_entropy; Wijmans et al. 2024, "Cut Your Losses" */
OX_API ox_tensor *ox_linear_cross_entropy(ox_tensor *x, ox_tensor *layer, ox_tensor *target, ox_tensor *bias,
                                          const ox_cross_entropy_desc *desc);

/* The same with classes, of an input that is log_softmax's result: -weight[target] input[target]. */
typedef struct ox_nll_loss_desc {
    ox_tensor *weight;
    ox_loss_reduction reduction;
    bool ignores;
    int64_t ignore_index;
} ox_nll_loss_desc;                  /* members as of ox_cross_entropy_desc */
OX_API ox_tensor *ox_nll_loss(ox_tensor *input, ox_tensor *target, const ox_nll_loss_desc *desc);

/* ---- of probabilities -------------------------------------------------------------------------------------
 * binary_cross_entropy -weight (target log input + (1 - target) log(1 - input)), both logs at least -100;
 * input in [0, 1]: elsewhere NaN, where torch refuses; where a log is cut its gradient is 0, where torch's is
 * as large as 1e12. target of input's shape
 * binary_cross_entropy_with_logits the same of sigmoid(input), exactly for any size; pos_weight multiplies
 * the terms of target, broadcast from the last dims
 * kl_div target (log target - input), input being log probabilities, and target too with log_target */
OX_API ox_tensor *ox_binary_cross_entropy(ox_tensor *input, ox_tensor *target, ox_tensor *weight,
                                          ox_loss_reduction reduction);
OX_API ox_tensor *ox_binary_cross_entropy_with_logits(ox_tensor *input, ox_tensor *target, ox_tensor *weight,
                                                      ox_tensor *pos_weight, ox_loss_reduction reduction);
OX_API ox_tensor *ox_kl_div(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction,
                            bool log_target);

/* (log variance + d d / variance) / 2, plus log(2 pi) / 2 if full; variances below eps (torch's is 1e-6)
 * count as eps, and their gradient passes all the same. variance: of input's shape, with sizes of 1, without
 * the last dim, or a number. torch refuses negative ones, which count as eps here. */
OX_API ox_tensor *ox_gaussian_nll_loss(ox_tensor *input, ox_tensor *target, ox_tensor *variance, bool full,
                                       double eps, ox_loss_reduction reduction);
/* log_input (torch's default): exp(input) - target input; else input - target log(input + eps), torch's eps
 * being 1e-8. full adds Stirling's target log target - target + log(2 pi target) / 2 for targets above 1. */
OX_API ox_tensor *ox_poisson_nll_loss(ox_tensor *input, ox_tensor *target, bool log_input, bool full,
                                      double eps, ox_loss_reduction reduction);

/* ---- of margins -------------------------------------------------------------------------------------------
 * targets of 1 and -1
 * hinge_embedding_loss target 1: input, -1: max(0, margin - input)                   torch's margin is 1
 * margin_ranking_loss max(0, margin - target (input1 - input2))                      torch's is 0
 * cosine_embedding_loss 1: 1 - cos(input1, input2), -1: max(0, cos - margin)         torch's is 0
 * soft_margin_loss log(1 + exp(-target input))
 * cosine_embedding_loss takes [N,D] with targets [N], or [D] with a number */
OX_API ox_tensor *ox_hinge_embedding_loss(ox_tensor *input, ox_tensor *target, double margin,
                                          ox_loss_reduction reduction);
OX_API ox_tensor *ox_margin_ranking_loss(ox_tensor *input1, ox_tensor *input2, ox_tensor *target,
                                         double margin, ox_loss_reduction reduction);
OX_API ox_tensor *ox_cosine_embedding_loss(ox_tensor *input1, ox_tensor *input2, ox_tensor *target,
                                           double margin, ox_loss_reduction reduction);
OX_API ox_tensor *ox_soft_margin_loss(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction);

/* max(0, margin + distance(anchor, positive) - distance(anchor, negative)) with pairwise_distance. */
typedef struct ox_triplet_margin_desc {
    double margin;                   /* 0 = 1; above 0 */
    double p;                        /* of the distance; 0 = 2 */
    double eps;                      /* of the distance; 0 = 1e-6 */
    bool swap;                       /* the negative's distance from the positive, where that is less */
    ox_loss_reduction reduction;
} ox_triplet_margin_desc;            /* all zeros, or NULL for it: torch's defaults */
OX_API ox_tensor *ox_triplet_margin_loss(ox_tensor *anchor, ox_tensor *positive, ox_tensor *negative,
                                         const ox_triplet_margin_desc *desc);

/* multi_margin_loss - sum over classes i other than y = target of weight[y] max(0, margin - input[y] +
 * input[i])^p / C; p 1 or 2, torch's is 1, its margin 1. input [N,C] or [C], target without the C (beside
 * [C] also [1])
 * multilabel_margin_loss - sum over classes y that target lists and i that it does not of max(0, 1 - input[y]
 * + input[i]) / C; target as input, a row lists classes up to its first negative number. Takes N C C numbers
 * of memory
 * multilabel_soft_margin_loss - binary_cross_entropy_with_logits, the mean over the last dim */
OX_API ox_tensor *ox_multi_margin_loss(ox_tensor *input, ox_tensor *target, double p, double margin,
                                       ox_tensor *weight, ox_loss_reduction reduction);
OX_API ox_tensor *ox_multilabel_margin_loss(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction);
OX_API ox_tensor *ox_multilabel_soft_margin_loss(ox_tensor *input, ox_tensor *target, ox_tensor *weight,
                                                 ox_loss_reduction reduction);

/* ---- distances --------------------------------------------------------------------------------------------
 * cosine_similarity sum (x1 / |x1|) (x2 / |x2|) along dim, norms at least eps; torch's dim is 1, its eps 1e-8
 * pairwise_distance |x1 - x2 + eps| by norm p along the last dim; torch's p is 2, its eps 1e-6 */
OX_API ox_tensor *ox_cosine_similarity(ox_tensor *x1, ox_tensor *x2, int dim, double eps);
OX_API ox_tensor *ox_pairwise_distance(ox_tensor *x1, ox_tensor *x2, double p, double eps, bool keepdim);

/* Connectionist temporal classification. log_probs [T,N,C] (or [T,C]) of log_softmax; targets [N,S], or of
 * all samples one behind the other; lengths [N] of both. A sum over all alignments: minus its logarithm; mean
 * divides each by its target's length first. zero_infinity: samples without an alignment count as 0.
 * source    torch.nn.functional.ctc_loss, with its gradient, which is that behind a log_softmax */
OX_API ox_tensor *ox_ctc_loss(ox_tensor *log_probs, ox_tensor *targets, ox_tensor *input_lengths,
                              ox_tensor *target_lengths, int64_t blank, ox_loss_reduction reduction,
                              bool zero_infinity);

OX_EXTERN_C_END
#endif
