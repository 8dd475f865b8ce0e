/* oxtorch_nn.h - 0.1.0 - gradients and training, over oxtorch.h - SPDX-License-Identifier: MIT
 * Generated from src/ by tools/amalgamate.c. Do not edit: edit src/ and run make headers.
 *
 * DO THIS
 *     #define OX_IMPLEMENTATION        in exactly one source file, before the include
 *     #include "oxtorch_nn.h"          oxtorch.h lies beside it
 *     cc app.c -lm -lpthread
 *
 *     ox_tensor *w = ox_requires_grad_(ox_mul_number(ox_randn(OX_SHAPE(10, 784), OX_F32), 0.03), true);
 *     ox_optimizer *adam = ox_optimizer_open(OX_OPTIMIZER_ADAMW, &w, 1);
 *     for (int step = 0; step < 100; step++) OX_SCOPE {
 *         ox_tensor *loss = ox_cross_entropy(ox_linear(x, w, NULL), labels, NULL);
 *         ox_optimizer_zero_grad(adam);
 *         ox_backward(loss, NULL);
 *         ox_optimizer_step(adam);
 *     }
 *     ox_optimizer_close(adam);
 *
 * HOW IT WORKS
 *     From the first ox_requires_grad_ on, each call whose operands want a gradient is recorded: what the
 *     gradient needs of it is kept, nothing else. ox_backward goes from a result back to the leaves and
 *     adds their gradients up (ox_gradient). Views and changes in place are followed as PyTorch follows
 *     them. A graph lives as long as the results that lead to it: OX_SCOPE frees it with them. Gradients
 *     are made by the library's own operations. They run where the tensors are, and are recorded themselves
 *     where create_graph asks for that.
 *
 * MODES
 *     OX_NO_GRAD { } records nothing: for what changes parameters and for inference. ox_detach cuts one
 *     tensor off.
 *
 * LOSSES
 *     Those of torch.nn.functional, by its names. The last number of most is a reduction, OX_LOSS_MEAN
 *     where it is 0. Options beyond that are in a struct whose zeros are PyTorch's defaults, and NULL is
 *     all of them:
 *         ox_cross_entropy_desc desc;
 *         memset(&desc, 0, sizeof desc);
 *         desc.label_smoothing = 0.1;
 *         ox_tensor *loss = ox_cross_entropy(logits, labels, &desc);
 *     A number that PyTorch gives a default for is said there, and is an argument here. They are made of
 *     other operations: write one of your own in the same way.
 *
 * OPTIMIZERS
 *     ox_optimizer_open takes a rule and parameters; its options begin as PyTorch's, and ox_optimizer_set
 *     changes them by name, before the first step or between two:
 *         ox_optimizer_set(adam, OX_ALL_GROUPS, "lr", 0.001 * warmth(step));
 *     ox_optimizer_add_group gives other parameters options of their own: biases without weight_decay, say.
 *     What is kept of a parameter can be read and put back (ox_optimizer_state) to go on later. Gradients
 *     that are to be clipped are clipped between ox_backward and ox_optimizer_step (ox_clip_grad_norm_).
 *     Whatever changes parameters by itself does it under OX_NO_GRAD: ox_add_scaled_(w, ox_gradient(w),
 *     -0.1).
 *
 * IMAGES, RECURRENT NETS, DISTRIBUTIONS
 *     torch.nn.functional's padding, interpolation, sampling by grids and what goes with pooling
 *     (images.h); lstm, gru and plain recurrent nets with torch's order of weights (recurrent.h); 18 of
 *     torch.distributions (distributions.h); sparse tensors, bags of embeddings (sparse.h). Each header says
 *     what its functions take.
 *
 * STATISTICS
 *     What torch makes of other operations too: covariance, quantiles, medians, histograms, differences,
 *     distances (statistics.h), reductions over what a mask lets see (masked.h), einsum, products of lists,
 *     linear algebra made of factors (algebra.h), drawing and dropping (random.h), windows of signals
 *     (signal.h).
 *
 * MEMORY
 *     ox_checkpoint computes a part of a graph again instead of keeping it. ox_set_saved_hooks moves or
 *     packs what is kept. Tensors that were kept and changed in place since are found: ox_backward says so.
 *
 * ERRORS
 *     As everywhere: ox_backward and ox_grad give a status, ox_error_text says what is wrong. Results of a
 *     call whose recording ran out of memory are right; backward through them is an error.
 */
#ifndef OXI_SECTION
/* Kernels are written once, behind the end of this header, and it includes itself for each kind of
 * processor. Another name than oxtorch_nn.h: #define OX_TORCH_NN_FILE "name.h" before it. */
#ifndef OX_TORCH_NN_FILE
#define OX_TORCH_NN_FILE "oxtorch_nn.h"
#endif
#define OXI_SECTION_OF_OX_TORCH_NN_FILE 0xdb2f14f0

#ifndef OX_TORCH_NN_H
#define OX_TORCH_NN_H

#ifndef OX_TORCH_FILE
#define OX_TORCH_FILE "oxtorch.h"
#endif
#include OX_TORCH_FILE
/* >>autograd/autograd.h */
/* Gradients: torch.autograd in C. Calls whose operands want a gradient are recorded; ox_backward walks them
 * from a result to its leaves. Views, changes in place, broadcasting and casts are followed as PyTorch
 * does. */
#ifndef OX_AUTOGRAD_AUTOGRAD_H
#define OX_AUTOGRAD_AUTOGRAD_H

OX_EXTERN_C_BEGIN

/* ---- what wants a gradient --------------------------------------------------------------------------------
 * threads   a graph (tensors that were computed from one another, and their gradients) is used by one thread
 *           at a time; different graphs by different threads at once */

/* From now on results that are computed from t are recorded; t is a leaf. false: no longer. Returns t.
 * dtypes    floats and c64
 * errors    OX_ERR_DTYPE; OX_ERR_ARG false for a result, which ox_detach is for; OX_ERR_NOMEM
 * source    torch.Tensor.requires_grad_ */
OX_API ox_tensor *ox_requires_grad_(ox_tensor *t, bool requires_grad);
OX_API bool ox_requires_grad(const ox_tensor *t);
OX_API bool ox_is_leaf(const ox_tensor *t); /* no recorded call made it */
/* A view of t that is not recorded: its gradient ends here. */
OX_API ox_tensor *ox_detach(ox_tensor *t);

/* The gradient that ox_backward added up in a leaf (torch.Tensor.grad), or NULL. It stays t's. */
OX_API ox_tensor *ox_gradient(ox_tensor *t);
/* Sets it; NULL forgets it, as zero_grad does. OX_ERR_SHAPE, OX_ERR_DTYPE where it does not fit t. */
OX_API ox_status ox_set_gradient(ox_tensor *t, ox_tensor *gradient);
/* Results keep their gradient as well, that of ox_grad too (torch.Tensor.retain_grad). */
OX_API ox_status ox_retain_gradient(ox_tensor *t);

/* ---- backward ------------------------------------------------------------------------------------------ */

typedef struct ox_backward_desc {
    ox_tensor *gradient;             /* of the result; NULL = 1, for a result of one element */
    bool retain_graph;               /* what was recorded stays, for another time */
    bool create_graph;               /* the gradients are recorded themselves; retains as well */
    ox_tensor *const *inputs;        /* only these, leaves or results, get gradients; NULL = all leaves */
    int input_count;
} ox_backward_desc;

/* ox_backward - adds the gradients of t with respect to each leaf it was computed from to that leaf's.
 * errors    OX_ERR_ARG nothing was recorded, t has several elements and no gradient was given, it was done
 *           before without retain_graph, what is needed was changed in place meanwhile; what an operation
 *           says
 * numerics  gradients are added up in the reverse order of recording: the same bits each time and for any
 *           number of threads
 * source    torch.Tensor.backward */
OX_API ox_status ox_backward(ox_tensor *t, const ox_backward_desc *desc);

typedef struct ox_grad_desc {
    ox_tensor *const *gradients;     /* one for each output; NULL, or an entry NULL: as in ox_backward */
    bool retain_graph, create_graph;
    bool allow_unused;               /* NULL for inputs that the outputs do not depend on, else OX_ERR_ARG */
} ox_grad_desc;

/* ox_grad - gradients of the sum of outputs with respect to inputs, into grads [input_count]; leaves get
 * none. Results are the scope's or the caller's; all NULL after an error.
 * source    torch.autograd.grad */
OX_API ox_status ox_grad(ox_tensor *const *outputs, int output_count, ox_tensor *const *inputs,
                         int input_count, const ox_grad_desc *desc, ox_tensor **grads);

/* ---- modes of a thread ------------------------------------------------------------------------------------
 * OX_NO_GRAD { ... } records nothing inside; OX_ENABLE_GRAD { ... } records again within it. Both may be left
 * like OX_SCOPE. */
OX_API bool ox_is_grad_enabled(void);
OX_API bool ox_set_grad_enabled(bool enabled);           /* returns what it was */
typedef struct ox_grad_scope { bool previous, open; } ox_grad_scope;
OX_API ox_grad_scope ox_grad_scope_begin(bool enabled);
OX_API void ox_grad_scope_end(ox_grad_scope *scope);
#define OX_NO_GRAD OXI_SCOPE_OF(ox_grad_scope, ox_grad_scope_begin(false), ox_grad_scope_end)
#define OX_ENABLE_GRAD OXI_SCOPE_OF(ox_grad_scope, ox_grad_scope_begin(true), ox_grad_scope_end)
/* OX_INFERENCE_MODE { ... } records nothing either, and what is made inside, an inference tensor, has no part
 * in gradients ever: what needs its numbers for a gradient, wants one of it, or changes it in place outside
 * is refused (OX_ERR_ARG); ox_clone gives a plain one. Views of other tensors stay plain.
 * source    torch.inference_mode */
OX_API bool ox_is_inference_mode_enabled(void);
OX_API bool ox_is_inference(const ox_tensor *t);
typedef struct ox_inference_scope { bool previous, grad, open; } ox_inference_scope;
OX_API ox_inference_scope ox_inference_scope_begin(bool enabled);
OX_API void ox_inference_scope_end(ox_inference_scope *scope);
#define OX_INFERENCE_MODE \
    OXI_SCOPE_OF(ox_inference_scope, ox_inference_scope_begin(true), ox_inference_scope_end)
/* true: a gradient that is NaN is OX_ERR_ARG with the name of the operation that gave it, which costs a look
 * at every gradient. A setting of the process. */
OX_API void ox_set_detect_anomaly(bool detect);

/* ---- hooks ------------------------------------------------------------------------------------------------
 * A hook gets the gradient of a tensor when it is complete, and gives the one that takes its place, or NULL
 * for no change. It must not change what it gets. Of a tensor that is changed in place later it is that of
 * the numbers from before (of a view: of what used them then), while ox_retain_gradient keeps that of the
 * last ones; a base's has the parts of its views as they are. */
typedef ox_tensor *(*ox_gradient_hook)(ox_tensor *gradient, void *user);
/* Number of the hook, for ox_remove_hook; 0 and an error where t wants no gradient or memory ends. */
OX_API int64_t ox_register_hook(ox_tensor *t, ox_gradient_hook hook, void *user);
/* Called with the leaf when its gradient was added up, so that an optimizer may step at once. */
typedef void (*ox_accumulated_hook)(ox_tensor *leaf, void *user);
OX_API int64_t ox_register_accumulated_hook(ox_tensor *leaf, ox_accumulated_hook hook, void *user);
/* A hook of the operation that gave t: called when it made the gradients of its operands, which it may look
 * at and replace (NULL: zeros), with those of its results. What is not OX_OK ends the backward.
 * source    torch.autograd.graph.Node.register_hook */
typedef ox_status (*ox_operation_hook)(ox_tensor **operand_gradients, int operand_count,
                                       ox_tensor *const *result_gradients, int result_count, void *user);
OX_API int64_t ox_register_operation_hook(ox_tensor *t, ox_operation_hook hook, void *user);
OX_API void ox_remove_hook(ox_tensor *t, int64_t number);

/* What a thread's recorded calls save goes through `pack` when it is saved and through `unpack` when it is
 * needed: onto a disk, to another device, into fewer bits. pack gives what stands for the tensor (NULL: it is
 * kept as it is), unpack a tensor of its shape and dtype that the open scope owns; drop frees what pack gave.
 * Operands that are leaves, which live anyway, do not pass, nor does what is saved in a checkpoint, whose
 * inputs do. */
typedef struct ox_saved_hooks {
    void *(*pack)(ox_tensor *t, void *user);
    ox_tensor *(*unpack)(void *packed, void *user);
    void (*drop)(void *packed, void *user);
    void *user;
} ox_saved_hooks;
/* NULL: none. Returns what was set before. The struct must outlive all that it saved. */
OX_API const ox_saved_hooks *ox_set_saved_hooks(const ox_saved_hooks *hooks);

/* ---- functions of one's own ---------------------------------------------------------------------------- */

/* What a custom function's backward works with. */
typedef struct ox_function_context {
    ox_tensor *const *gradients;     /* of its outputs; NULL: none came */
    ox_tensor *const *saved;         /* what was saved, in order */
    const bool *wants;               /* whether each input wants a gradient */
    ox_tensor **input_gradients;     /* to be filled; NULL = none */
    void *user;
} ox_function_context;
typedef struct ox_function {
    const char *name;                /* for messages; a text that lives as long as the process */
    ox_status (*backward)(const ox_function_context *context);
    void (*drop)(void *user);        /* NULL, or called when nothing needs `user` any more */
} ox_function;
/* ox_attach_function - makes `outputs`, computed under OX_NO_GRAD from `inputs`, results of the function:
 * when gradients come to them, its backward makes those of the inputs. Inputs and outputs may be saved.
 * errors    OX_ERR_ARG an output is recorded already; OX_ERR_NOMEM. drop is called then, too
 * source    torch.autograd.Function */
OX_API ox_status ox_attach_function(const ox_function *function, void *user, ox_tensor *const *inputs,
                                    int input_count, ox_tensor *const *outputs, int output_count,
                                    ox_tensor *const *saved, int saved_count);

/* ox_checkpoint - runs a function, which is recorded, but does not keep what its gradients need: it runs
 * again when they are wanted, with the same default dtype and device and the same random numbers: time
 * instead of memory. It computes outputs [output_count], of which some may stay NULL, from inputs, in a scope
 * of its own. Gradients, hooks and what else it uses are as without; outputs may be the array of inputs. Both
 * runs have to save the same, and must not change inputs or results from outside in place; what else one
 * changes (running statistics, gradients by a backward in it) is changed twice. What it uses and does not
 * save is used as it is when it runs again.
 * errors    OX_ERR_ARG where it does; what the function says, in ox_backward too. Outputs are NULL then
 * source    torch.utils.checkpoint, use_reentrant=False */
typedef ox_status (*ox_checkpoint_function)(ox_tensor *const *inputs, ox_tensor **outputs, void *user);
OX_API ox_status ox_checkpoint(ox_checkpoint_function function, void *user, ox_tensor *const *inputs,
                               int input_count, ox_tensor **outputs, int output_count);

/* ---- checking gradients -------------------------------------------------------------------------------- */

typedef struct ox_gradcheck_desc {
    double eps;                      /* of the finite differences; 0 = 1e-6 */
    double absolute, relative;       /* tolerances; 0 = 1e-5, 1e-3 */
} ox_gradcheck_desc;
typedef ox_tensor *(*ox_checked_function)(ox_tensor *const *inputs, void *user);
/* ox_gradcheck - compares the gradients of a function's result with finite differences, for each input that
 * requires one (f64 or c64 is wise). OX_OK, or OX_ERR_ARG and in words which element differs.
 * ox_gradgradcheck does so with the gradients of its gradients, for random ones of the result.
 * source    torch.autograd.gradcheck, torch.autograd.gradgradcheck */
OX_API ox_status ox_gradcheck(ox_checked_function function, void *user, ox_tensor *const *inputs,
                              int input_count, const ox_gradcheck_desc *desc);
OX_API ox_status ox_gradgradcheck(ox_checked_function function, void *user, ox_tensor *const *inputs,
                                  int input_count, const ox_gradcheck_desc *desc);

/* ---- derivatives of functions -----------------------------------------------------------------------------
 * Of a function of inputs [input_count] with one result, at the inputs' numbers; what the inputs are recorded
 * for and their gradients stay as they are. NULL or a status after an error, of the function or the
 * gradients.
 * source    torch.autograd.functional */

/* The product of a vector of the result's shape (NULL: 1, of one element) with the Jacobian, one tensor for
 * each input into products. *value: the result, if wanted. */
OX_API ox_status ox_vjp(ox_checked_function function, void *user, ox_tensor *const *inputs, int input_count,
                        ox_tensor *vector, ox_tensor **products, ox_tensor **value);
/* The product of the Jacobian with tangents, one of each input's shape: of the result's shape. By gradients
 * of gradients. */
OX_API ox_tensor *ox_jvp(ox_checked_function function, void *user, ox_tensor *const *inputs,
                         int input_count, ox_tensor *const *tangents, ox_tensor **value);
/* Of input `which`: the result's dims, then the input's. */
OX_API ox_tensor *ox_jacobian(ox_checked_function function, void *user, ox_tensor *const *inputs,
                              int input_count, int which);
/* Second derivatives of a result of one element: the dims of input `first`, then those of input `second`. */
OX_API ox_tensor *ox_hessian(ox_checked_function function, void *user, ox_tensor *const *inputs,
                             int input_count, int first, int second);

OX_EXTERN_C_END
#endif
/* >>nn/losses.h */
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
/* >>nn/optimizers.h */
/* Optimizers: torch.optim's by name and meaning. An optimizer has a rule, and groups of parameters with
 * options of their own; it keeps what the rule wants to remember of each parameter. Steps change the
 * parameters in place, record nothing, and run where these are.
 *
 *     ox_optimizer *optimizer = ox_optimizer_open(OX_OPTIMIZER_ADAMW, parameters, count);
 *     ox_optimizer_set(optimizer, OX_ALL_GROUPS, "lr", 3e-4);
 *     for (...) OX_SCOPE {
 *         ox_optimizer_zero_grad(optimizer);
 *         ox_backward(loss, NULL);
 *         ox_clip_grad_norm_(parameters, count, 1, 2);
 *         ox_optimizer_step(optimizer);
 *     }
 *     ox_optimizer_close(optimizer); */
#ifndef OX_NN_OPTIMIZERS_H
#define OX_NN_OPTIMIZERS_H

OX_EXTERN_C_BEGIN

/* ---- rules ------------------------------------------------------------------------------------------------
 * rule      options, as they are at first (torch's)        what is kept of a parameter
 * SGD       lr 1e-3, momentum 0, dampening 0,              momentum_buffer, where momentum is not 0
 *           weight_decay 0, nesterov 0, maximize 0
 *             g += weight_decay p;  b = momentum b + (1 - dampening) g, at first b = g
 *             p -= lr b, with nesterov lr (g + momentum b)
 * ADAM      lr 1e-3, beta1 0.9, beta2 0.999, eps 1e-8,     exp_avg, exp_avg_sq; with amsgrad
 *           weight_decay 0, amsgrad 0, maximize 0,         max_exp_avg_sq
 *           decoupled_weight_decay 0
 *             g += weight_decay p, or decoupled p -= lr weight_decay p
 *             m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g g;  with amsgrad v's largest so far
 *             p -= lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps) in step t
 * ADAMW     as ADAM; weight_decay 0.01, decoupled_weight_decay 1
 * options   numbers; nesterov, amsgrad and the like are 0 or 1. maximize: gradients count with the other sign
 * dtypes    floats and c64, whose parts count as two numbers; what is kept has the parameter's dtype
 * numerics  in the parameter's dtype and the order of torch's operations, factors in f64; the same bits for
 *           any number of threads
 * source    torch.optim.SGD, Adam, AdamW; Sutskever et al. 2013, Kingma & Ba 2015, Reddi et al. 2018,
 *           Loshchilov & Hutter 2019 */
typedef enum ox_optimizer_rule {
    OX_OPTIMIZER_SGD = 1,
    OX_OPTIMIZER_ADAM,
    OX_OPTIMIZER_ADAMW
} ox_optimizer_rule;

typedef struct ox_optimizer ox_optimizer;

/* ---- an optimizer and its groups ----------------------------------------------------------------------- */

/* ox_optimizer_open - an optimizer with one group, which may be empty. The parameters are leaves, and are
 *   kept alive until ox_optimizer_close.
 * errors    NULL: OX_ERR_ARG no rule, a parameter is NULL, a result, or there twice; OX_ERR_DTYPE;
 *           OX_ERR_NOMEM */
OX_API ox_optimizer *ox_optimizer_open(ox_optimizer_rule rule, ox_tensor *const *parameters, int count);
/* NULL is allowed. Parameters and their gradients stay as they are. */
OX_API void ox_optimizer_close(ox_optimizer *optimizer);
/* One more group, whose options begin as those of group 0 are now. Its number, -1 on error, as above. */
OX_API int ox_optimizer_add_group(ox_optimizer *optimizer, ox_tensor *const *parameters, int count);
OX_API int ox_optimizer_groups(const ox_optimizer *optimizer);

/* Options of a group, or of all: the learning rate of the next step, say. OX_ERR_ARG: no such group or
 * option, a value that torch refuses; ox_optimizer_get gives NaN then. */
#define OX_ALL_GROUPS (-1)
OX_API ox_status ox_optimizer_set(ox_optimizer *optimizer, int group, const char *option, double value);
OX_API double ox_optimizer_get(const ox_optimizer *optimizer, int group, const char *option);

/* ---- steps --------------------------------------------------------------------------------------------- */

/* ox_optimizer_step - one step of every parameter that has a gradient (ox_gradient); others stay.
 * memory    what is kept is made in a parameter's first step; from then on nothing that stays
 * errors    OX_ERR_ARG options that do not go together (nesterov without momentum, or with dampening);
 *           OX_ERR_NOMEM, and what operations say: parameters before it have had their step then */
OX_API ox_status ox_optimizer_step(ox_optimizer *optimizer);
/* Forgets the gradients of all parameters (torch's set_to_none). */
OX_API void ox_optimizer_zero_grad(ox_optimizer *optimizer);

/* ---- what is kept -------------------------------------------------------------------------------------- */

/* What is kept of a parameter under a name of the table above, the optimizer's own; NULL where nothing is
 * yet. For c64, pairs of f32 behind the parameter's shape. An unknown parameter or name is OX_ERR_ARG. */
OX_API ox_tensor *ox_optimizer_state(ox_optimizer *optimizer, const ox_tensor *parameter, const char *name);
/* Puts a copy of `value` in its place; NULL forgets it. OX_ERR_SHAPE where it does not fit. */
OX_API ox_status ox_optimizer_set_state(ox_optimizer *optimizer, const ox_tensor *parameter, const char *name,
                                        ox_tensor *value);
/* How many steps a parameter has had; -1 and OX_ERR_ARG for an unknown one. */
OX_API int64_t ox_optimizer_steps(const ox_optimizer *optimizer, const ox_tensor *parameter);
OX_API ox_status ox_optimizer_set_steps(ox_optimizer *optimizer, const ox_tensor *parameter, int64_t steps);

/* ---- clipping ------------------------------------------------------------------------------------------ */

/* ox_clip_grad_norm_ - scales the gradients of parameters by most / (norm + 1e-6) where that is below 1, norm
 *   being that of all of them as one vector: p = 2, 1, INFINITY ..
 * memory    returns the norm as it was, a number of no dims (0 where there is no gradient), which nothing
 *           waits for on a GPU
 * source    torch.nn.utils.clip_grad_norm_; Pascanu et al. 2013 */
OX_API ox_tensor *ox_clip_grad_norm_(ox_tensor *const *parameters, int count, double most, double p);
/* Each number of the gradients into [-most, most]. torch.nn.utils.clip_grad_value_ */
OX_API ox_status ox_clip_grad_value_(ox_tensor *const *parameters, int count, double most);

OX_EXTERN_C_END
#endif
/* >>nn/images/images.h */
/* Images: padding, resampling, and what goes with convolutions and pooling. torch.nn.functional's by name and
 * meaning. All are made of other functions: any strides, any device, gradients of any order.
 * shapes    x [N,C,..] of one to three spatial dims; [C,..] where the comment says so
 * dtypes    floats where numbers are weighted (f16 and bf16 in f32, rounded once), else all that ox_cat and
 *           ox_index_select take
 * errors    OX_ERR_SHAPE, OX_ERR_DTYPE; OX_ERR_ARG sizes, scales and modes that make no sense
 * source    the functions of the same names in torch.nn.functional */
#ifndef OX_NN_IMAGES_H
#define OX_NN_IMAGES_H

OX_EXTERN_C_BEGIN

/* ox_pad - x with more at its ends: pad = {before, behind} of the last dim, then of the one before it ..;
 * below 0 takes away. mode "constant" (NULL): value; "reflect": mirrored without the edge, "replicate": the
 * edge, "circular": the other end. These three pad up to three spatial dims of [N,C,..] or [C,..].
 * errors    OX_ERR_ARG more pairs than dims, a mirror or circle longer than x */
OX_API ox_tensor *ox_pad(ox_tensor *x, const int64_t *pad, int64_t count, const char *mode, double value);

/* ox_interpolate - x [N,C,..] resampled to `size` (a number for all spatial dims, or one each), or to scale
 * times its own where size is OX_SCALAR_SHAPE; scale_count is 1 or the number of dims, 0 with a size.
 * mode "nearest" (NULL) as OpenCV's, "nearest-exact" as Pillow's, "linear" (3-d x), "bilinear" and "bicubic"
 * (4-d), "trilinear" (5-d), "area". align_corners: first and last elements meet; of the linear and cubic ones
 * alone. recompute: the scale is that of the sizes, not the one that was given.
 * "bilinear-antialias", "bicubic-antialias": torch's antialias, a filter as wide as the scale where x
 * shrinks. */
OX_API ox_tensor *ox_interpolate(ox_tensor *x, ox_shape size, const double *scale, int scale_count,
                                 const char *mode, bool align_corners, bool recompute);

/* ox_grid_sample - x [N,C,H,W] read at grid [N,h,w,2], places (x, y) from -1 to 1, -> [N,C,h,w]; or
 * [N,C,D,H,W] at [N,d,h,w,3]. mode "bilinear" (NULL; of 5-d x trilinear), "nearest", "bicubic" (4-d x).
 * padding "zeros" (NULL), "border", "reflection": what lies outside. align_corners: -1 and 1 are the centers
 * of the outermost elements, else their outer edges. Gradients of x and, but for "nearest", of grid.
 * ox_affine_grid - such a grid for ox_grid_sample from theta [N,2,3] and size [N,C,H,W], or [N,3,4] and
 * [N,C,D,H,W]. */
OX_API ox_tensor *ox_grid_sample(ox_tensor *x, ox_tensor *grid, const char *mode, const char *padding,
                                 bool align_corners);
OX_API ox_tensor *ox_affine_grid(ox_tensor *theta, ox_shape size, bool align_corners);

/* pixel_shuffle [..,C r r,H,W] -> [..,C,H r,W r], pixel_unshuffle back; channel_shuffle [N,C,..]: the groups
 * of channels interleaved. */
OX_API ox_tensor *ox_pixel_shuffle(ox_tensor *x, int64_t factor);
OX_API ox_tensor *ox_pixel_unshuffle(ox_tensor *x, int64_t factor);
OX_API ox_tensor *ox_channel_shuffle(ox_tensor *x, int64_t groups);

/* ox_lp_pool2d - (sum x^p)^(1/p) of each window, as ox_avg_pool2d: sizes of one or two numbers, an empty
 * stride is the kernel. torch's sign(sum) |sum|^(1/p).
 * ox_max_unpool2d - zeros with x where ox_max_pool2d_with_indices found it: kernel, stride, padding as there;
 * `size` the spatial dims of the result where these leave a choice, OX_SCALAR_SHAPE for the smallest.
 * ox_fractional_max_pool2d - the largest of windows whose places are drawn: kernel and size of the result as
 * OX_DIMS; samples [N,C,2] (of 3-d x: [N,C,3]) in [0, 1), one a dim. With where it is (Graham 2015).
 * Likewise of the other numbers of spatial dims. x [N,C,..] or [C,..]. */
OX_API ox_tensor *ox_lp_pool1d(ox_tensor *x, double p, ox_shape kernel, ox_shape stride, bool ceil);
OX_API ox_tensor *ox_max_unpool1d(ox_tensor *x, ox_tensor *indices, ox_shape kernel, ox_shape stride,
                                  ox_shape padding, ox_shape size);
OX_API ox_tensor *ox_lp_pool2d(ox_tensor *x, double p, ox_shape kernel, ox_shape stride, bool ceil);
OX_API ox_tensor *ox_max_unpool2d(ox_tensor *x, ox_tensor *indices, ox_shape kernel, ox_shape stride,
                                  ox_shape padding, ox_shape size);
OX_API ox_tensor *ox_lp_pool3d(ox_tensor *x, double p, ox_shape kernel, ox_shape stride, bool ceil);
OX_API ox_tensor *ox_max_unpool3d(ox_tensor *x, ox_tensor *indices, ox_shape kernel, ox_shape stride,
                                  ox_shape padding, ox_shape size);
OX_API ox_pair ox_fractional_max_pool2d(ox_tensor *x, ox_shape kernel, ox_shape size, ox_tensor *samples);
OX_API ox_pair ox_fractional_max_pool3d(ox_tensor *x, ox_shape kernel, ox_shape size, ox_tensor *samples);

/* x / (k + alpha mean(x x))^beta over `size` channels around each of x [N,C,..]. torch's alpha is 1e-4, beta
 * 0.75, k 1. Krizhevsky et al. 2012 */
OX_API ox_tensor *ox_local_response_norm(ox_tensor *x, int64_t size, double alpha, double beta, double k);

OX_EXTERN_C_END
#endif
/* >>nn/recurrent/recurrent.h */
/* Recurrent nets: torch's lstm, gru, rnn_tanh, rnn_relu and their cells, by name, meaning and order of
 * weights.
 *     lstm  i, f, g, o = W x + b + U h + d;  c = sigmoid(f) c + sigmoid(i) tanh(g);  h = sigmoid(o) tanh(c)
 *     gru   r, z = sigmoid(W x + b + U h + d);  n = tanh(W x + b + r (U h + d));  h = (1 - z) n + z h
 *     rnn   h = tanh or relu of W x + b + U h + d
 * shapes    x [T,N,I], [N,T,I] if batch_first, or one sequence [T,I] -> [T,N,D H] ..; states [L D,N,H] of L
 *           layers, D directions (one sequence: [L D,H])
 * params    of each layer, of each direction: W [G H,I], U [G H,H] and, if has_biases, b and d [G H], G
 *           gates; lstm with a last weight [P,H]: h is projected by it, and has P numbers
 * dropout   between the layers, if train
 * results   the outputs of the last layer, forward beside backward; the last state of each layer and
 *           direction (lstm: h and c)
 * a product for all times and one a step, behind which f32, f16 and bf16 take all gates of a sample in one
 * pass; f64 is made of other functions. Any strides, any device, gradients of any order. Sequences of several
 * lengths: packed.h.
 * errors    OX_ERR_SHAPE, OX_ERR_ARG counts that do not fit
 * source    torch.lstm; Hochreiter & Schmidhuber 1997, Cho et al. 2014 */
#ifndef OX_NN_RECURRENT_H
#define OX_NN_RECURRENT_H

OX_EXTERN_C_BEGIN

/* states: h and c. t[0] outputs, t[1] h, t[2] c */
OX_API ox_tuple ox_lstm(ox_tensor *x, ox_tensor *const *states, int state_count, ox_tensor *const *params,
                        int param_count, bool has_biases, int64_t layers, double dropout, bool train,
                        bool bidirectional, bool batch_first);
/* t[0] outputs, t[1] h */
OX_API ox_tuple ox_gru(ox_tensor *x, ox_tensor *h, ox_tensor *const *params, int param_count,
                       bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional,
                       bool batch_first);
OX_API ox_tuple ox_rnn_tanh(ox_tensor *x, ox_tensor *h, ox_tensor *const *params, int param_count,
                            bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional,
                            bool batch_first);
OX_API ox_tuple ox_rnn_relu(ox_tensor *x, ox_tensor *h, ox_tensor *const *params, int param_count,
                            bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional,
                            bool batch_first);
/* One step: x [N,I] or [I], states as x; b and d may be NULL. lstm_cell gives h and c. */
OX_API ox_tuple ox_lstm_cell(ox_tensor *x, ox_tensor *const *states, int state_count, ox_tensor *w,
                             ox_tensor *u, ox_tensor *b, ox_tensor *d);
OX_API ox_tensor *ox_gru_cell(ox_tensor *x, ox_tensor *h, ox_tensor *w, ox_tensor *u, ox_tensor *b,
                              ox_tensor *d);
OX_API ox_tensor *ox_rnn_tanh_cell(ox_tensor *x, ox_tensor *h, ox_tensor *w, ox_tensor *u, ox_tensor *b,
                                   ox_tensor *d);
OX_API ox_tensor *ox_rnn_relu_cell(ox_tensor *x, ox_tensor *h, ox_tensor *w, ox_tensor *u, ox_tensor *b,
                                   ox_tensor *d);

OX_EXTERN_C_END
#endif
/* >>nn/recurrent/packed.h */
/* Sequences of several lengths as one tensor: torch.nn.utils.rnn's packed sequences, and recurrent nets over
 * them, which compute no step of padding.
 *     ox_packed p = ox_pack_padded_sequence(x, lengths, true, false);
 *     ox_tuple y = ox_lstm_packed(&p, states, 2, params, 4, true, 1, 0, false, false);
 *     ox_packed out = ox_packed_with(&p, y.t[0]);
 *     ox_tuple padded = ox_pad_packed_sequence(&out, true, 0, 0);
 * layout    the first step of all sequences, longest first, the second of those that have one, ..
 * memory    the tensors belong to the scope, as results do; batch_sizes and indices are i64 on the CPU
 * gradients through data, of any order
 * errors    OX_ERR_SHAPE; OX_ERR_ARG lengths that are not 1 .. T, or not sorted where that is enforced. Then
 *           data is NULL, and such a value is refused without another error
 * source    torch.nn.utils.rnn */
#ifndef OX_NN_PACKED_H
#define OX_NN_PACKED_H

OX_EXTERN_C_BEGIN

typedef struct ox_packed {
    ox_tensor *data;             /* [sum of lengths, ..] */
    ox_tensor *batch_sizes;      /* [T]: how many sequences have a step t */
    ox_tensor *sorted_indices;   /* [N]: which sequence is the longest, the next ..; NULL: as they come */
    ox_tensor *unsorted_indices; /* [N]: the way back, or NULL */
} ox_packed;

/* x [T,N,..], [N,T,..] if batch_first, of which the first lengths[n] steps count; lengths [N] integers.
 * enforce_sorted: lengths must not rise, and nothing is sorted (torch's default). */
OX_API ox_packed ox_pack_padded_sequence(ox_tensor *x, ox_tensor *lengths, bool batch_first,
                                         bool enforce_sorted);
/* Of a list of sequences [T_n, ..]. */
OX_API ox_packed ox_pack_sequence(ox_tensor *const *list, int count, bool enforce_sorted);
/* p with other data, as a layer makes it. */
OX_API ox_packed ox_packed_with(const ox_packed *p, ox_tensor *data);
/* t[0] [T,N,..] (batch_first: [N,T,..]) with `value` where a sequence is over, t[1] lengths [N] i64, both in
 * the order of before. total: T, at least the longest; 0: that. */
OX_API ox_tuple ox_pad_packed_sequence(const ox_packed *p, bool batch_first, double value, int64_t total);

/* Sequences [T_n, ..] side by side: [T,N,..] or [N,T,..], `value` behind them (side NULL or "right") or
 * before ("left"). */
OX_API ox_tensor *ox_pad_sequence(ox_tensor *const *list, int count, bool batch_first, double value,
                                  const char *side);
/* Back: views into out[room], as ox_split; lengths [N]. */
OX_API int64_t ox_unpad_sequence(ox_tensor *padded, ox_tensor *lengths, bool batch_first, ox_tensor **out,
                                 int64_t room);

/* As ox_lstm and the others (recurrent.h), of packed sequences: t[0] is the data of a packed sequence like p;
 * states [L D,N,H], given and last, are in the order of before, the last ones each sequence's own. */
OX_API ox_tuple ox_lstm_packed(const ox_packed *p, ox_tensor *const *states, int state_count,
                               ox_tensor *const *params, int param_count, bool has_biases, int64_t layers,
                               double dropout, bool train, bool bidirectional);
OX_API ox_tuple ox_gru_packed(const ox_packed *p, ox_tensor *h, ox_tensor *const *params, int param_count,
                              bool has_biases, int64_t layers, double dropout, bool train,
                              bool bidirectional);
OX_API ox_tuple ox_rnn_tanh_packed(const ox_packed *p, ox_tensor *h, ox_tensor *const *params,
                                   int param_count, bool has_biases, int64_t layers, double dropout,
                                   bool train, bool bidirectional);
OX_API ox_tuple ox_rnn_relu_packed(const ox_packed *p, ox_tensor *h, ox_tensor *const *params,
                                   int param_count, bool has_biases, int64_t layers, double dropout,
                                   bool train, bool bidirectional);

OX_EXTERN_C_END
#endif
/* >>nn/distributions/distributions.h */
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
/* >>nn/algebra/algebra.h */
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
/* >>nn/statistics/statistics.h */
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
/* >>nn/statistics/masked.h */
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
/* >>nn/random.h */
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
/* >>nn/signal.h */
/* Windows of signals (torch.signal.windows), and their spectra (torch.fft, torch.stft). Windows have `length`
 * elements; symmetric false is for spectra; dtype OX_DTYPE_NONE: the default one.
 * errors    OX_ERR_ARG for lengths below 0, dtypes without fractions, numbers that make no sense */
#ifndef OX_NN_SIGNAL_H
#define OX_NN_SIGNAL_H

OX_EXTERN_C_BEGIN

OX_API ox_tensor *ox_window_hann(int64_t length, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_hamming(int64_t length, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_blackman(int64_t length, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_nuttall(int64_t length, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_bartlett(int64_t length, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_cosine(int64_t length, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_general_cosine(int64_t length, const double *a, int count, bool symmetric,
                                           ox_dtype dtype);
OX_API ox_tensor *ox_window_gaussian(int64_t length, double deviation, bool symmetric, ox_dtype dtype);
OX_API ox_tensor *ox_window_exponential(int64_t length, double center, double tau, bool symmetric,
                                        ox_dtype dtype);
OX_API ox_tensor *ox_window_kaiser(int64_t length, double beta, bool symmetric, ox_dtype dtype);

/* ---- spectra ------------------------------------------------------------------------------------------- */
OX_API ox_tensor *ox_fftshift(ox_tensor *x, ox_shape dims);
OX_API ox_tensor *ox_ifftshift(ox_tensor *x, ox_shape dims);
OX_API ox_tensor *ox_fftfreq(int64_t n, double d, ox_dtype dtype);
OX_API ox_tensor *ox_rfftfreq(int64_t n, double d, ox_dtype dtype);

/* Short-time transforms: windows of n_fft samples, `hop` apart, times window [window length <= n_fft] (NULL:
 * ones). x [.., samples] -> [.., frequencies, frames], c64. Zeros: hop n_fft / 4, window length n_fft.
 * center: frames are around their samples, the ends mirrored. normalized: over sqrt(n_fft). onesided: of real
 * samples, n_fft / 2 + 1 frequencies. */
typedef struct ox_stft_desc {
    int64_t hop;
    int64_t window_length;
    ox_tensor *window;
    bool center;
    bool normalized;
    bool onesided;
} ox_stft_desc;
OX_API ox_tensor *ox_stft(ox_tensor *x, int64_t n_fft, const ox_stft_desc *desc);
/* The samples, `length` of them (0: as many as there are); real where onesided. OX_ERR_ARG where windows
 * leave some samples out. */
OX_API ox_tensor *ox_istft(ox_tensor *x, int64_t n_fft, int64_t length, const ox_stft_desc *desc);

OX_EXTERN_C_END
#endif
/* >>nn/sparse/sparse.h */
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
/* >>nn/tensors/tensors.h */
/* What a program does to tensors beside computing: forms in place of views, of what is put by index,
 * resizing; elementwise functions and products that programs which only infer rarely need; tensors with
 * strides of one's own, dtypes of results, several statistics at once; turns, grids, copies with a part
 * replaced, what repeats and what accumulates.
 * memory    forms in place give t itself; the others a new tensor, one reference
 * errors    OX_ERR_SHAPE, OX_ERR_DIM, OX_ERR_DTYPE, OX_ERR_INDEX as of the functions without a _; OX_ERR_ARG
 * source    the functions of the same names in torch */
#ifndef OX_NN_TENSORS_H
#define OX_NN_TENSORS_H

OX_EXTERN_C_BEGIN

/* ---- views in place ---------------------------------------------------------------------------------------
 * t itself becomes the view of its numbers that the function without the _ gives: nothing is copied, other
 * headers of the numbers stay as they are. It counts as a change in place: a gradient that needs the numbers
 * of before says so, and a result that was recorded goes on as the view.
 * errors    OX_ERR_ARG a leaf that wants a gradient; under OX_NO_GRAD such a leaf that has a gradient or is
 *           needed by what was recorded, and a result of what was recorded; a number (ox_number) */
OX_API ox_tensor *ox_transpose_(ox_tensor *t, int dim0, int dim1);
OX_API ox_tensor *ox_t_(ox_tensor *t);
OX_API ox_tensor *ox_squeeze_(ox_tensor *t, int dim);
OX_API ox_tensor *ox_squeeze_all_(ox_tensor *t);
OX_API ox_tensor *ox_unsqueeze_(ox_tensor *t, int dim);
OX_API ox_tensor *ox_as_strided_(ox_tensor *t, ox_shape shape, ox_shape strides, int64_t offset);

/* ox_resize_ - another shape, contiguous, over the numbers from t's first on; the same shape changes nothing.
 * Where they are fewer than it takes, t moves to memory of its own, whose further numbers are 0: other views
 * keep the old one, where torch moves them along. ox_resize_as_ - the shape of another.
 * errors    OX_ERR_ARG t has a gradient; OX_ERR_DTYPE a block type */
OX_API ox_tensor *ox_resize_(ox_tensor *t, ox_shape shape);
OX_API ox_tensor *ox_resize_as_(ox_tensor *t, const ox_tensor *like);
/* t forgets how it was computed, and wants no gradient any more. OX_ERR_ARG a view: ox_detach. */
OX_API ox_tensor *ox_detach_(ox_tensor *t);

/* ---- joins, splits, diagonals, more dims --------------------------------------------------------------- */
OX_API ox_tensor *ox_hstack(ox_tensor *const *list, int count);
OX_API ox_tensor *ox_vstack(ox_tensor *const *list, int count);
OX_API ox_tensor *ox_diag(ox_tensor *x, int64_t diagonal);  /* a copy, of vectors a matrix */
OX_API ox_tensor *ox_diag_embed(ox_tensor *x, int64_t offset, int dim1, int dim2);
/* Each repeated; repeats of one number (ox_integer) or one an element. OX_FLATTENED flattens x. Reads the
 * total. */
OX_API ox_tensor *ox_repeat_interleave(ox_tensor *x, ox_tensor *repeats, int dim);
OX_API ox_tensor *ox_trace(ox_tensor *x);                   /* of two dims: the sum of the diagonal */
OX_API ox_tensor *ox_atleast_1d(ox_tensor *x);
OX_API ox_tensor *ox_atleast_2d(ox_tensor *x);
OX_API ox_tensor *ox_atleast_3d(ox_tensor *x);
OX_API ox_tensor *ox_dstack(ox_tensor *const *list, int count);
OX_API ox_tensor *ox_column_stack(ox_tensor *const *list, int count);
/* As ox_split: views into out[room], the count; -1 and an error. tensor_split_at: before each index. */
OX_API int64_t ox_tensor_split(ox_tensor *x, int64_t sections, int dim, ox_tensor **out, int64_t room);
OX_API int64_t ox_tensor_split_at(ox_tensor *x, const int64_t *indices, int64_t count, int dim,
                                   ox_tensor **out, int64_t room);
OX_API int64_t ox_broadcast_tensors(ox_tensor *const *list, int count, ox_tensor **out, int64_t room);

/* ---- taken and put by index, in a copy ----------------------------------------------------------------- */
/* x[i, :, j] of Python: an index tensor or mask a leading dim, NULL for all of it; indices broadcast,
 * negative ones count from the end. ox_index_put gives a copy with values there, added up if accumulate is
 * true. Both read whether an index is out of range (OX_ERR_INDEX). */
OX_API ox_tensor *ox_index(ox_tensor *x, ox_tensor *const *indices, int count);
OX_API ox_tensor *ox_index_put(ox_tensor *x, ox_tensor *const *indices, int count, ox_tensor *values,
                               bool accumulate);
OX_API ox_tensor *ox_index_copy(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source);
OX_API ox_tensor *ox_index_fill(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *value);
OX_API ox_tensor *ox_take(ox_tensor *x, ox_tensor *index);
OX_API ox_tensor *ox_put(ox_tensor *x, ox_tensor *index, ox_tensor *source, bool accumulate);
OX_API ox_tensor *ox_masked_scatter(ox_tensor *x, ox_tensor *mask, ox_tensor *source);
/* Where values would go in sorted lines (of the last dim, or one line for all), i64; right: behind equals. */
OX_API ox_tensor *ox_searchsorted(ox_tensor *sorted, ox_tensor *values, bool right);
/* Of these: which boundaries each value lies between, i64; and whether it is among others. */
OX_API ox_tensor *ox_bucketize(ox_tensor *values, ox_tensor *boundaries, bool right);
OX_API ox_tensor *ox_isin(ox_tensor *x, ox_tensor *among, bool invert);

/* ---- by index, in place: as ox_index_put and ox_put, which give copies --------------------------------- */
OX_API ox_tensor *ox_index_put_(ox_tensor *t, ox_tensor *const *indices, int count, ox_tensor *values,
                                bool accumulate);
OX_API ox_tensor *ox_put_(ox_tensor *t, ox_tensor *index, ox_tensor *source, bool accumulate);

/* ---- elementwise --------------------------------------------------------------------------------------- */
/* sinc sin(pi x)/(pi x)   deg2rad rad2deg   tanhshrink x - tanh(x)   isposinf isneginf bool
 * logaddexp log(e^a+e^b), logaddexp2 of 2   xlogy a log(b), xlog1py a log(1+b): 0 where a is 0
 * heaviside 0, b, 1 for a below, at, above 0   ldexp a 2^b   float_power in f64
 * nextafter a's neighbor towards b   gcd lcm of integers; they read whether they are done */
/* clang-format off */
#define OX_TENSORS_1(X) X(sinc) X(deg2rad) X(rad2deg) X(tanhshrink) X(isposinf) X(isneginf)
#define OX_TENSORS_2(X) \
    X(logaddexp) X(logaddexp2) X(xlogy) X(xlog1py) X(heaviside) X(ldexp) X(float_power) X(nextafter) X(gcd) \
    X(lcm) X(inner) X(vdot)
/* clang-format on */
#define OXI_X(name) OX_API ox_tensor *ox_##name(ox_tensor *x);
OX_TENSORS_1(OXI_X)
#undef OXI_X
#define OXI_X(name) OX_API ox_tensor *ox_##name(ox_tensor *a, ox_tensor *b);
OX_TENSORS_2(OXI_X)
#undef OXI_X
OX_API ox_tensor *ox_logit(ox_tensor *x, double eps);         /* log(x/(1-x)); eps -1: x is not clamped */
OX_API ox_tensor *ox_hardshrink(ox_tensor *x, double lambda); /* 0 where |x| <= lambda */
OX_API ox_tensor *ox_softshrink(ox_tensor *x, double lambda); /* nearer to 0 by lambda */
OX_API ox_tensor *ox_softmin(ox_tensor *x, int dim);
OX_API ox_tensor *ox_prelu(ox_tensor *x, ox_tensor *weight); /* weight of one, or one a channel (dim 1) */
OX_API ox_tensor *ox_rrelu(ox_tensor *x, double lower, double upper, bool training);
OX_API ox_tuple ox_frexp(ox_tensor *x); /* mantissa, exponent (i32): 1/2 <= |mantissa| < 1 */

/* ---- products: beta c + alpha product ------------------------------------------------------------------ */
OX_API ox_tensor *ox_addmv(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha);
OX_API ox_tensor *ox_addr(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha);
OX_API ox_tensor *ox_addbmm(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha);
OX_API ox_tensor *ox_baddbmm(ox_tensor *c, ox_tensor *a, ox_tensor *b, double beta, double alpha);
OX_API ox_tensor *ox_vecdot(ox_tensor *a, ox_tensor *b, int dim);
OX_API ox_tensor *ox_tensordot(ox_tensor *a, ox_tensor *b, ox_shape dims_a, ox_shape dims_b);

/* ---- made ---------------------------------------------------------------------------------------------- */
/* Memory for strides of one's own, not below 0; its numbers are any. */
OX_API ox_tensor *ox_empty_strided(ox_shape shape, ox_shape strides, ox_dtype dtype);
/* base to the power of `steps` exponents from start to end, both ends included; computed in f64. */
OX_API ox_tensor *ox_logspace(double start, double end, int64_t steps, double base, ox_dtype dtype);

/* Places of a triangle of ones, i64 [2, count]. */
OX_API ox_tensor *ox_tril_indices(int64_t rows, int64_t columns, int64_t offset);
OX_API ox_tensor *ox_triu_indices(int64_t rows, int64_t columns, int64_t offset);
OX_API ox_tensor *ox_diagflat(ox_tensor *x, int64_t offset);
/* As ox_split: views into out[room], the count; -1 and an error. indexing "ij" (NULL) or "xy". */
OX_API int64_t ox_meshgrid(ox_tensor *const *list, int count, const char *indexing, ox_tensor **out,
                           int64_t room);
OX_API ox_tensor *ox_rot90(ox_tensor *x, int64_t times, int dim0, int dim1);

/* ---- copies of x, of which what the view of that name shows is source ---------------------------------- */
OX_API ox_tensor *ox_select_scatter(ox_tensor *x, ox_tensor *source, int dim, int64_t index);
OX_API ox_tensor *ox_slice_scatter(ox_tensor *x, ox_tensor *source, int dim, int64_t start, int64_t end,
                                   int64_t step);
OX_API ox_tensor *ox_diagonal_scatter(ox_tensor *x, ox_tensor *source, int64_t offset, int dim1, int dim2);
OX_API ox_tensor *ox_as_strided_scatter(ox_tensor *x, ox_tensor *source, ox_shape shape, ox_shape strides,
                                        int64_t offset);

/* ---- places -------------------------------------------------------------------------------------------- */
/* The first `size` places that are not 0, i64 [size, dims of x]; rows behind them are fill_value. */
OX_API ox_tensor *ox_nonzero_static(ox_tensor *x, int64_t size, int64_t fill_value);
/* Places in a flattened tensor of that shape as one i64 tensor a dim, into out[room]; the count of dims. */
OX_API int64_t ox_unravel_index(ox_tensor *indices, ox_shape shape, ox_tensor **out, int64_t room);

/* ---- what repeats, what accumulates -------------------------------------------------------------------- */
/* (values sorted, which each element is, counts). dim OX_FLATTENED: of elements; else of slices along dim. */
OX_API ox_tuple ox_unique(ox_tensor *x, int dim);
OX_API ox_tuple ox_unique_consecutive(ox_tensor *x, int dim);           /* in the order they come in */
/* The largest (smallest) so far and where it was, the last of equal ones; NaN stays. */
OX_API ox_pair ox_cummax(ox_tensor *x, int dim);
OX_API ox_pair ox_cummin(ox_tensor *x, int dim);
OX_API ox_tensor *ox_logcumsumexp(ox_tensor *x, int dim);

/* ---- dtypes -------------------------------------------------------------------------------------------- */
/* Of what is computed of both: tensors without dims and numbers count by their class alone. NONE and an error
 * where there is none. */
OX_API ox_dtype ox_result_type(ox_tensor *a, ox_tensor *b);
/* Whether no class is lost: complex numbers to real ones, floats to integers, integers to bool. */
OX_API bool ox_can_cast(ox_dtype from, ox_dtype to);

/* ---- several at once ----------------------------------------------------------------------------------- */
/* Least and most; dim OX_FLATTENED: of all. */
OX_API ox_tuple ox_aminmax(ox_tensor *x, int dim, bool keepdim);
OX_API ox_tuple ox_var_mean(ox_tensor *x, ox_shape dims, double correction, bool keepdim);
OX_API ox_tuple ox_std_mean(ox_tensor *x, ox_shape dims, double correction, bool keepdim);

/* ---- reduced ------------------------------------------------------------------------------------------- */

/* ox_segment_reduce - of runs of positions along a dim: run s has lengths[.., s] of them, one after the
 * other.
 *   x [B.., N, R..], lengths [B.., S] (axis = dims of B) -> [B.., S, R..]; or offsets [B.., S + 1] for
 *   lengths
 * how       "sum" "prod" "mean" "max" "min"; `initial` is one number more of each run (of a mean: of its
 *           sum); NAN: none, and runs of nothing are 0, 1, NaN, -inf and inf
 * errors    OX_ERR_INDEX lengths below 0, or that are not N in all; OX_ERR_ARG both or none of lengths and
 *           offsets
 * source    torch.segment_reduce */
OX_API ox_tensor *ox_segment_reduce(ox_tensor *x, const char *how, ox_tensor *lengths, ox_tensor *offsets,
                                    int axis, double initial);
/* The exclusive or of the bits of each number, in 64 of them (of floats as f64, of integers as i64): u64.
 * dtypes    all but c64 and blocks
 * source    torch.hash_tensor */
OX_API ox_tensor *ox_hash_tensor(ox_tensor *x, ox_shape dims, bool keepdim);

OX_EXTERN_C_END
#endif
/* >>nn/quantize/quantize.h */
/* Numbers as integers of a scale and a zero point, and training as if they were: torch's quantize_per_tensor,
 * quantize_per_channel and fake_quantize functions. (Block types of files are dtypes: ox_cast.)
 *   q = min(max(round(x / scale) + zero_point, least), most);  x' = (q - zero_point) scale
 * round goes to the nearest, of two to the even one, of x times the f32 number nearest to 1 / scale, as in
 * torch.
 * dtypes    x floats; q i8, u8 or i32 (torch's qint8, quint8, qint32), an ordinary tensor: torch's has scale
 *           and zero point within
 * channels  scales [C] above 0 and zero_points [C], integers, of dim `axis` of x
 * errors    OX_ERR_DTYPE, OX_ERR_SHAPE, OX_ERR_DIM; OX_ERR_ARG a scale that is not above 0, a zero point that
 *           is no number of q (numbers are looked at, tensors are not)
 * source    torch.quantize_per_tensor ..; Jacob et al. 2018; Bengio et al. 2013, the straight-through
 *           estimate */
#ifndef OX_NN_QUANTIZE_H
#define OX_NN_QUANTIZE_H

OX_EXTERN_C_BEGIN

OX_API ox_tensor *ox_quantize_per_tensor(ox_tensor *x, double scale, int64_t zero_point, ox_dtype dtype);
OX_API ox_tensor *ox_quantize_per_channel(ox_tensor *x, ox_tensor *scales, ox_tensor *zero_points, int axis,
                                          ox_dtype dtype);
/* In f32. */
OX_API ox_tensor *ox_dequantize(ox_tensor *q, double scale, int64_t zero_point);
OX_API ox_tensor *ox_dequantize_per_channel(ox_tensor *q, ox_tensor *scales, ox_tensor *zero_points,
                                            int axis);

/* x' at once, in x's dtype. Its gradient is that of x where q was not cut at least or most, and 0 elsewhere;
 * scales and zero points have none. */
OX_API ox_tensor *ox_fake_quantize_per_tensor_affine(ox_tensor *x, double scale, int64_t zero_point,
                                                     int64_t least, int64_t most);
OX_API ox_tensor *ox_fake_quantize_per_channel_affine(ox_tensor *x, ox_tensor *scales, ox_tensor *zero_points,
                                                      int axis, int64_t least, int64_t most);

OX_EXTERN_C_END
#endif

#endif /* OX_TORCH_NN_H */

/* From here on the text is packed: comments, blank lines and indentation are left out. To read it, see
 * src/ in the repository: what stands behind the mark >>base/error.c here is src/base/error.c there. */
#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_NN_IMPLEMENTED)
#define OX_TORCH_NN_IMPLEMENTED
/* >>autograd/internal.h */
#ifndef OX_AUTOGRAD_INTERNAL_H
#define OX_AUTOGRAD_INTERNAL_H
typedef struct oxi_outline{ox_dtype dtype;
int ndim;int64_t shape[OX_MAX_DIMS];ox_device*device;}oxi_outline;typedef struct oxi_pass oxi_pass;typedef struct oxi_node oxi_node;
typedef struct oxi_backward{const oxi_call*call;const oxi_outline*operand;ox_tensor*out[OXI_MAX_OUT];const oxi_outline*result;
ox_tensor*g[OXI_MAX_OUT];const bool*wants;ox_tensor**grad;const oxi_pass*pass;const oxi_node*node;}oxi_backward;
static ox_tensor*oxi_sum_so_far(const oxi_backward*b,int i);typedef ox_status(*oxi_gradient_rule)(oxi_backward*b);
typedef struct oxi_gradient_row{const char*saves;oxi_gradient_rule rule;const char*formula[3];oxi_op row;}oxi_gradient_row;
static const oxi_gradient_row*oxi_gradient_row_of(oxi_op op);
static ox_status oxi_gradient_by_formula(const oxi_gradient_row*row,oxi_backward*b);
#define OXI_LETTER_RESULTS ('y'-'a')
typedef enum oxi_word_kind{OXI_WORD_LETTER,OXI_WORD_NUMBER,OXI_WORD_ATTRIBUTE,OXI_WORD_KEEP,OXI_WORD_KEPT,OXI_WORD_OP}oxi_word_kind;
typedef struct oxi_word{uint16_t kind,index;}oxi_word;
enum{OXI_FORMULA_WORDS=40,OXI_FORMULA_NUMBERS=6,OXI_FORMULA_DEPTH=6,OXI_FORMULA_KEPT=3};typedef struct oxi_formula{int64_t compiled;
int count,number_count;unsigned letters;const char*refused;double numbers[OXI_FORMULA_NUMBERS];
oxi_word words[OXI_FORMULA_WORDS];}oxi_formula;typedef struct oxi_formula_values{ox_tensor*letter[26],*ready[26];double attribute[3];
}oxi_formula_values;
static const oxi_formula*oxi_formula_of(oxi_op op,int i);
static ox_tensor*oxi_formula_run(oxi_op op,const oxi_attrs*attr,ox_tensor*x,ox_tensor*y,ox_tensor*g);
#endif
/* >>nn/algebra/factors.c */
OX_API ox_tuple ox_slogdet(ox_tensor*x){if(oxi_any_null("slogdet",&x,1))return oxi_no_tuple();
oxi_work work=oxi_work_begin("slogdet");ox_tuple lu=oxi_no_tuple();
if(x->ndim<2||x->shape[x->ndim-2]==x->shape[x->ndim-1])lu=ox_lu_factor(x,true);
if(!lu.t[0]){if(ox_error()==OX_OK)
(void)oxi_fail(OX_ERR_SHAPE,"slogdet: %s is not square",oxi_tensor_text(x));
return oxi_tuple_end(&work,NULL,NULL,NULL);}
ox_tensor*d=ox_diagonal(lu.t[0],0,-2,-1);ox_tensor*sign=ox_mul(ox_prod(ox_sgn(d),OX_DIMS(-1),false),oxi_sign_of_pivots(lu.t[1]));
return oxi_tuple_end(&work,sign,ox_sum(ox_log(ox_abs(d)),OX_DIMS(-1),false),NULL);}
OX_API ox_tensor*ox_logdet(ox_tensor*x){if(oxi_any_null("logdet",&x,1))return NULL;
oxi_work work=oxi_work_begin("logdet");ox_tuple parts=ox_slogdet(x);
if(oxi_is_complex(x))return oxi_work_end(&work,ox_add(ox_log(parts.t[0]),parts.t[1]));
return oxi_work_end(&work,ox_where(ox_lt_number(parts.t[0],0),ox_number(NAN),parts.t[1]));}
static ox_tensor*oxi_rank_of(ox_tensor*x,ox_tensor*s,double atol,double rtol){
if(oxi_least_side(x)==0)return ox_sum(ox_ne_number(x,0),OX_DIMS(-2,-1),false);
ox_tensor*limit=s?oxi_rank_limit(x,s,atol,rtol):NULL;return ox_sum(ox_gt(s,limit),OX_DIMS(-1),false);}
OX_API ox_tensor*ox_matrix_rank(ox_tensor*x,double atol,double rtol,bool hermitian){if(oxi_any_null("matrix_rank",&x,1))return NULL;
if(x->ndim<2)return OXI_FAIL_NULL(OX_ERR_SHAPE,"matrix_rank: %s is no matrix",oxi_tensor_text(x));
oxi_work work=oxi_work_begin("matrix_rank");ox_tensor*s=oxi_least_side(x)==0?NULL:hermitian?ox_abs(ox_eigvalsh(x,false)):ox_svdvals(x);
return oxi_work_end(&work,oxi_rank_of(x,s,atol,rtol));}
OX_API ox_tuple ox_lstsq(ox_tensor*a,ox_tensor*b,double rcond){ox_tensor*in[2]={a,b};
if(oxi_any_null("lstsq",in,2))return oxi_no_tuple();
oxi_work work=oxi_work_begin("lstsq");bool vector=oxi_is_vector_beside(a,b);ox_tensor*right=vector?ox_unsqueeze(b,-1):b;
if(!oxi_same_batch("lstsq",&a,&right))return oxi_tuple_end(&work,NULL,NULL,NULL);
int64_t m=a->shape[a->ndim-2],n=a->shape[a->ndim-1];oxi_svd_parts parts;ox_tensor*p,*x,*s,*rank,*rest;
if(!oxi_svd_of(a,&parts))return oxi_tuple_end(&work,NULL,NULL,NULL);
s=parts.s;p=a->tape||!n||!m?ox_pinv(a,0,rcond,false):oxi_pinv_of(&parts,oxi_rank_limit(a,s,0,rcond));x=ox_matmul(p,right);
for(int turn=0;turn<2;turn++)
x=ox_add(x,ox_matmul(p,ox_sub(right,ox_matmul(a,x))));
rank=oxi_rank_of(a,s,0,rcond);if(!rank)return oxi_tuple_end(&work,NULL,NULL,NULL);
bool whole=m>n&&ox_item_int(ox_all(ox_eq_number(rank,(double)n),OX_ALL_DIMS,false));
rest=whole?ox_sum(ox_square(ox_abs(ox_sub(ox_matmul(a,x),right))),OX_DIMS(-2),false)
:oxi_full("lstsq",OX_SHAPE(0),0,a->dtype,ox_device_of(a));
if(vector)x=ox_squeeze(x,-1);
ox_keep(s);ox_tuple made=oxi_tuple_end(&work,x,rest,rank);made.t[3]=s;return made;}
OX_API ox_tensor*ox_cholesky_solve(ox_tensor*b,ox_tensor*l,bool upper){ox_tensor*in[2]={b,l};
if(oxi_any_null("cholesky_solve",in,2))return NULL;
oxi_work work=oxi_work_begin("cholesky_solve");ox_tensor*turned=oxi_adjoint(l);
ox_tensor*first=ox_solve_triangular(upper?turned:l,b,false,true,false);
return oxi_work_end(&work,ox_solve_triangular(upper?l:turned,first,true,true,false));}
OX_API ox_tensor*ox_cholesky_inverse(ox_tensor*l,bool upper){if(oxi_any_null("cholesky_inverse",&l,1))return NULL;
if(l->ndim<2)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"cholesky_inverse: %s is no matrix",oxi_tensor_text(l));
oxi_work work=oxi_work_begin("cholesky_inverse");
return oxi_work_end(&work,ox_cholesky_solve(oxi_eye_beside(l,l->shape[l->ndim-1]),l,upper));}
static ox_tensor*oxi_rows_of_pivots(ox_tensor*pivots,int64_t rows,bool back,const ox_tensor*x){
int64_t count=pivots->shape[pivots->ndim-1],batch=count?ox_numel(pivots)/count:1;ox_shape shape=ox_shape_of(pivots);
for(int d=0;!count&&d+1<pivots->ndim;d++)batch*=pivots->shape[d];
shape.dim[shape.ndim-1]=rows;ox_tensor*host=ox_contiguous(ox_to(ox_cast(pivots,OX_I64),ox_cpu()));
ox_tensor*made=oxi_tensor_new(ox_cpu(),OX_I64,shape.ndim,shape.dim);const int64_t*from=host?(const int64_t*)ox_data(host):NULL;
int64_t*to=made?(int64_t*)ox_data(made):NULL,bytes=(rows?rows:1)*8;int64_t*order=(int64_t*)oxi_alloc((size_t)bytes);
bool done=order&&host&&made;
for(int64_t b=0;done&&b<batch;b++){for(int64_t i=0;i<rows;i++)order[i]=i;
for(int64_t i=0;i<count;i++){int64_t other=from[b*count+i]-1,was=order[i];
if(other<0||other>=rows){(void)oxi_fail(OX_ERR_ARG,"lu: the pivot %lld of %lld rows",(long long)other+1,(long long)rows);
done=false;
break;}
order[i]=order[other];order[other]=was;}
for(int64_t i=0;done&&i<rows;i++)to[b*rows+(back?order[i]:i)]=back?i:order[i];}
if(order)oxi_free(order,(size_t)bytes);
return done?ox_to(made,oxi_working_device(ox_device_of(x))):NULL;}
static ox_tensor*oxi_with_rows(ox_tensor*x,ox_tensor*rows){if(!x||!rows)return NULL;
ox_tensor*index=ox_unsqueeze(rows,-1);ox_shape shape=ox_shape_of(x);return ox_gather(x,-2,ox_contiguous(ox_expand(index,shape)));}
OX_API ox_tuple ox_lu_unpack(ox_tensor*lu,ox_tensor*pivots){ox_tensor*in[2]={lu,pivots};
if(oxi_any_null("lu_unpack",in,2))return oxi_no_tuple();
if(lu->ndim<2||pivots->ndim!=lu->ndim-1){(void)oxi_fail(OX_ERR_SHAPE,"lu_unpack: pivots %s of %s",oxi_tensor_text(pivots),
oxi_tensor_text(lu));
return oxi_no_tuple();}
oxi_work work=oxi_work_begin("lu_unpack");int64_t m=lu->shape[lu->ndim-2],k=oxi_least_side(lu);
ox_tensor*left=ox_tril(ox_narrow(lu,-1,0,k),-1),*ones=NULL;if(left){
ones=ox_cast(ox_tril(ox_triu(oxi_full("lu",OX_SHAPE(m,k),1,OX_BOOL,ox_device_of(lu)),0),0),lu->dtype);left=ox_add(left,ones);}
ox_tensor*u=ox_triu(ox_narrow(lu,-2,0,k),0);ox_tensor*rows=oxi_rows_of_pivots(pivots,m,true,lu),*eye=oxi_eye_beside(lu,m);
ox_shape whole=ox_shape_of(lu);whole.dim[whole.ndim-1]=m;return oxi_tuple_end(&work,oxi_with_rows(ox_expand(eye,whole),rows),left,u);}
OX_API ox_tuple ox_lu(ox_tensor*x,bool pivot){if(oxi_any_null("lu",&x,1))return oxi_no_tuple();
ox_scope scope=ox_scope_begin();ox_tuple packed=ox_lu_factor(x,pivot);
ox_tuple made=packed.t[0]?ox_lu_unpack(packed.t[0],packed.t[1]):oxi_no_tuple();for(int i=0;i<3;i++)ox_keep(made.t[i]);
ox_scope_end(&scope);return made;}
OX_API ox_tensor*ox_lu_solve(ox_tensor*lu,ox_tensor*pivots,ox_tensor*b,bool left,bool adjoint){ox_tensor*in[3]={lu,pivots,b};
if(oxi_any_null("lu_solve",in,3))return NULL;
oxi_work work=oxi_work_begin("lu_solve");if(!left){ox_tensor*x=ox_lu_solve(lu,pivots,oxi_adjoint(b),true,!adjoint);
return oxi_work_end(&work,oxi_adjoint(x));}
if(lu->ndim<2){(void)oxi_fail(OX_ERR_SHAPE,"lu_solve: %s is no matrix",oxi_tensor_text(lu));
return oxi_work_end(&work,NULL);}
ox_tensor*rows=oxi_rows_of_pivots(pivots,lu->shape[lu->ndim-2],adjoint,lu),*wide=lu;
if(!rows||!oxi_same_batch("lu_solve",&wide,&b))return oxi_work_end(&work,NULL);
if(!adjoint)b=oxi_with_rows(b,rows);
ox_tensor*turned=adjoint?oxi_adjoint(wide):wide;b=ox_solve_triangular(turned,b,false,true,!adjoint);if(adjoint)
b=ox_solve_triangular(turned,b,true,true,true);
else
b=ox_solve_triangular(wide,b,true,true,false);
return oxi_work_end(&work,adjoint?oxi_with_rows(b,rows):b);}
static ox_tensor*oxi_reflected(ox_tensor*x,ox_tensor*tau,ox_tensor*other,bool back){
int64_t m=x->shape[x->ndim-2],count=tau->shape[tau->ndim-1];if(back&&tau->dtype==OX_C64&&!(tau=ox_conj(tau)))return NULL;
for(int64_t i=0;i<count&&other;i++){int64_t k=back?i:count-1 -i;
ox_tensor*v=ox_narrow(x,-1,k,1),*ramp=ox_unsqueeze(oxi_ramp_beside(x,m,OX_I64),1);
v=ox_where(ox_gt_number(ramp,(double)k),v,ox_cast(ox_eq_number(ramp,(double)k),x->dtype));
ox_tensor*part=ox_matmul(oxi_adjoint(v),other);other=ox_sub(other,ox_mul(ox_matmul(v,part),ox_unsqueeze(ox_narrow(tau,-1,k,1),-1)));}
return other;}
OX_API ox_tensor*ox_ormqr(ox_tensor*x,ox_tensor*tau,ox_tensor*other,bool left,bool transpose){ox_tensor*in[3]={x,tau,other};
if(oxi_any_null("ormqr",in,3))return NULL;
if(x->ndim<2||tau->ndim!=x->ndim-1||other->ndim!=x->ndim)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"ormqr: %s, tau %s, other %s",oxi_tensor_text(x),oxi_tensor_text(tau),oxi_tensor_text(other));
oxi_work work=oxi_work_begin("ormqr");ox_tensor*made=left?other:oxi_adjoint(other);
made=oxi_reflected(x,tau,made,left?transpose:!transpose);return oxi_work_end(&work,left?made:oxi_adjoint(made));}
OX_API ox_tensor*ox_householder_product(ox_tensor*x,ox_tensor*tau){ox_tensor*in[2]={x,tau};
if(oxi_any_null("householder_product",in,2))return NULL;
if(x->ndim<2||tau->ndim!=x->ndim-1||x->shape[x->ndim-2]<x->shape[x->ndim-1]||tau->shape[tau->ndim-1]>x->shape[x->ndim-1])
return OXI_FAIL_NULL(OX_ERR_SHAPE,"householder_product: %s, tau %s",oxi_tensor_text(x),oxi_tensor_text(tau));
oxi_work work=oxi_work_begin("householder_product");ox_tensor*eye=oxi_eye_beside(x,x->shape[x->ndim-2]);
eye=ox_narrow(eye,-1,0,x->shape[x->ndim-1]);
return oxi_work_end(&work,oxi_reflected(x,tau,ox_clone(ox_expand(eye,ox_shape_of(x))),false));}
/* >>autograd/rules/shapes.c */
#define OXI_GRADIENT_RULE(name)static ox_status oxi_gradient_##name(oxi_backward*b)
static ox_status oxi_gives(oxi_backward*b,int i,ox_tensor*gradient){b->grad[i]=gradient;
return gradient?OX_OK:ox_error();}
static ox_shape oxi_outline_shape(const oxi_outline*outline){return ox_shape_from(outline->ndim,outline->shape);}
static int64_t oxi_outline_numel(const oxi_outline*outline){int64_t count=1;for(int d=0;d<outline->ndim;d++)count*=outline->shape[d];
return count;}
static bool oxi_same_sizes(const ox_tensor*a,const ox_tensor*b,int without){int at=0;for(int d=0;d<b->ndim;d++){if(d==without)continue;
if(at>=a->ndim||a->shape[at++]!=b->shape[d])return false;}
return at==a->ndim;}
static ox_tensor*oxi_constant_beside(const ox_tensor*t,ox_shape shape,double value){
return t?oxi_full("full",shape,value,t->dtype,oxi_working_device(ox_device_of(t))):NULL;}
static ox_tensor*oxi_zeros_for(const oxi_backward*b,int i,const ox_tensor*beside){
return oxi_constant_beside(beside,oxi_outline_shape(&b->operand[i]),0);}
static ox_tensor*oxi_thin_zeros(const ox_tensor*t,ox_shape shape){return ox_expand(oxi_constant_beside(t,OX_SCALAR_SHAPE,0),shape);}
static ox_shape oxi_reduced_dims(const oxi_backward*b){return oxi_dims_of_set(b->call->attr.reduce.dims);}
static ox_tensor*oxi_with_reduced(const oxi_backward*b,ox_tensor*t){const oxi_attr_reduce*told=&b->call->attr.reduce;
if(told->keepdim||told->dims==0)return t;
ox_shape shape=oxi_outline_shape(&b->operand[0]);for(int d=0;d<shape.ndim;d++)
if(told->dims>>d&1)shape.dim[d]=1;
return ox_reshape(t,shape);}
static ox_tensor*oxi_spread(const oxi_backward*b,ox_tensor*t){return ox_expand(oxi_with_reduced(b,t),oxi_outline_shape(&b->operand[0]));}
static double oxi_reduced_count(const oxi_backward*b){double count=1;
for(int d=0;d<b->operand[0].ndim;d++)
if(b->call->attr.reduce.dims>>d&1)count*=(double)b->operand[0].shape[d];
return count;}
static ox_tensor*oxi_between_zeros(ox_tensor*g,int dim,int64_t before,int64_t behind){ox_tensor*parts[3];int count=0;
if(!g||(before==0&&behind==0))return g;
ox_shape shape=ox_shape_of(g);for(int i=0;i<3;i++){int64_t zeros=i==0?before:behind;
if(i!=1&&zeros==0)continue;
shape.dim[dim]=zeros;parts[count]=i==1?g:oxi_thin_zeros(g,shape);if(!parts[count++])return NULL;}
return ox_cat(parts,count,dim);}
static ox_tensor*oxi_steps_beside(const ox_tensor*t,int64_t first,int64_t count,int64_t step){
ox_tensor*ramp=t?oxi_ramp_beside(t,count,OX_I64):NULL;if(step!=1)ramp=ox_mul(ramp,ox_integer(step));
return first?ox_add(ramp,ox_integer(first)):ramp;}
static ox_tensor*oxi_added_back(const oxi_backward*b,int dim,ox_tensor*index,ox_tensor*g){
return ox_index_add(oxi_zeros_for(b,0,g),dim,index,g,1);}
static ox_tensor*oxi_summed_to(ox_tensor*t,ox_shape shape){if(!t)return NULL;
ox_shape dims=OX_SCALAR_SHAPE;int lead=t->ndim-shape.ndim;for(int d=0;d<t->ndim;d++)
if(d<lead||(shape.dim[d-lead]==1&&t->shape[d]!=1))dims.dim[dims.ndim++]=d;
if(dims.ndim==0)return t;
return ox_reshape(ox_sum(t,dims,true),shape);}
static ox_tensor*oxi_summed_by_channel(ox_tensor*t){ox_shape dims=OX_SCALAR_SHAPE;for(int d=0;t&&d<t->ndim;d++)
if(d!=1)dims.dim[dims.ndim++]=d;
return ox_sum(t,dims,false);}
static ox_tensor*oxi_as_dtype_of(ox_tensor*t,const ox_tensor*like){bool same=!t||!like||t->dtype==like->dtype||oxi_is_block(like->dtype);
return same?t:ox_cast(t,like->dtype);}
/* >>autograd/back/kernels.c */
typedef struct oxi_norm_row{int64_t n;const float*g,*x,*weight;bool centered,streams;float about,mean,scale,rest;
double sum,squares,total,along;
float*weight_sums,*bias_sums;float*out,*first,*last,*to;const float*whole;int64_t head,end,lag;}oxi_norm_row;
typedef struct oxi_channel_numbers{float mean,a,b,c;}oxi_channel_numbers;typedef struct oxi_cell_row{int64_t n;const float*in[4];
float*out[3];float least;}oxi_cell_row;enum{OXI_BACK_ROW_MOST=1<<16,OXI_PAGE_FLOATS=1024};typedef struct oxi_rows_back oxi_rows_back;
typedef struct oxi_back_kernels{int picks,degree;float step;
void(*silu)(int64_t n,const float*g,const float*x,float*out,bool streams,const float*table);
void(*gelu)(int64_t n,const float*g,const float*x,float*out,bool streams,const float*table);
void(*softmax)(int64_t n,const float*g,const float*y,float along,float*out,bool streams);
float(*softmax_next)(int64_t n,const float*g,const float*y,float along,float*out,const float*next_g,const float*next_y);
void(*log_softmax)(int64_t n,const float*g,const float*y,float along,float*out,bool streams);void(*norm_measure)(oxi_norm_row*r);
void(*norm_rows)(const oxi_rows_back*r,int64_t first,int64_t end,float*room,float*sums);
void(*channel)(int64_t n,const float*g,const float*x,const oxi_channel_numbers*c,float*out,bool streams);
void(*lstm)(const oxi_cell_row*r);void(*gru)(const oxi_cell_row*r);void(*rnn)(const oxi_cell_row*r);
void(*lstm_back)(const oxi_cell_row*r);void(*gru_back)(const oxi_cell_row*r);void(*rnn_back)(const oxi_cell_row*r);}oxi_back_kernels;
typedef void(*oxi_row_back)(const oxi_rows_back*r,const float*g,const float*y,float*out);struct oxi_rows_back{const oxi_call*call;
const oxi_kernels*k;const oxi_back_kernels*own;oxi_row_back row;int64_t n,rows,tasks,each;bool goes_on;double eps,share;
const float*in[2];const float*weight;bool streams,narrow;float*sums,*scratch;int64_t lane_numbers,step;};
static char*oxi_numbers_at(const ox_tensor*t,int64_t first){return oxi_ptr(t)+oxi_signed_bytes(t->dtype,first);}
static const float*oxi_floats_of(const oxi_kernels*k,const ox_tensor*t,int64_t first,int64_t n,float*room){
const char*at=oxi_numbers_at(t,first);if(t->dtype==OX_F32)return(const float*)(const void*)at;
k->load[t->dtype][OXI_LANE_F32](n,at,1,room);return room;}
OXI_SMALL const float*oxi_back_read(const oxi_rows_back*r,int operand,int64_t i,float*room){
if(r->in[operand])return r->in[operand]+i*r->n;
const ox_tensor*t=r->call->in[operand];const char*next=oxi_numbers_at(t,(i+1)*r->n);
const float*row=oxi_floats_of(r->k,t,i*r->n,r->n,room);for(int64_t at=0;at<2*r->n;at+=OXI_LINE)OXI_PREFETCH_FAR(next+at);
return row;}
typedef struct oxi_norm_lines{float line[4][OXI_LINE/sizeof(float)];float*to[4];int at;}oxi_norm_lines;
static OXI_NOINLINE void oxi_norm_moments(const oxi_rows_back*r,const oxi_norm_row*row,double*mean,double*squares){double a=0,b=0;
oxi_partial p=oxi_partial_of(&a,&b);(row->centered?oxi_moments_row:oxi_squares_row)(r->k,&p,r->n,row->x,0);*mean=row->centered?a:0;
*squares=row->centered?b:a;}
enum{OXI_NORM_NEAR=192};OXI_SMALL int64_t oxi_norm_lag(const float*from,const float*out){
int64_t behind=(int64_t)(((uintptr_t)out-(uintptr_t)from)/sizeof(float)%1024);return behind<OXI_NORM_NEAR?oxi_round_up(behind,32):0;}
#if defined(__GNUC__) && !defined(__clang__)
#define OXI_AS_WRITTEN _Pragma("GCC optimize(\"fp-contract=off\", \"no-schedule-insns2\", \"no-ivopts\")")
#else
#define OXI_AS_WRITTEN
#endif
/* >>cpu/simd/vocabulary.inc */
#define OXI_CODES_BYTES 0
#define OXI_CODES_WORDS 1
#define OXI_CODES_DOT 2
#define OXI_CODES_WIDE 3
#define OXI_CODES_MATRIX 4
#define OXI_MULTIPLY_ADD(class,sums,w,x,way){\
__typeof__(sums)product;\
if(way==OXI_CODES_BYTES)\
__asm__("vpmaddubsw {%3, %2, %1|%1, %2, %3}\n vpaddw {%1, %0, %0|%0, %0, %1}":"+" class(sums),"=&" class(product):class(w),class(x));\
else \
__asm__("vpmaddwd {%3, %2, %1|%1, %2, %3}\n vpaddd {%1, %0, %0|%0, %0, %1}":"+" class(sums),"=&" class(product):class(w),class(x));}
#define OXI_PASTE_TIER(tier,name)oxi_##tier##_##name
#define OXI_PASTE_TIER_EXPANDED(tier,name)OXI_PASTE_TIER(tier,name)
#define OXI_ISA(name)OXI_PASTE_TIER_EXPANDED(OXI_TIER,name)
#if defined(__GNUC__) || defined(__clang__)
#define OXI_INLINE static inline __attribute__((always_inline,unused))OXI_ISA(TARGET)
#else
#define OXI_INLINE static inline
#endif
#define OXI_KERNEL static OXI_ALIGNED OXI_UNUSED OXI_ISA(TARGET)
#define OXI_SHARED static OXI_ALIGNED OXI_NOINLINE OXI_UNUSED OXI_ISA(TARGET)
#define vf OXI_ISA(vf)
#define vi OXI_ISA(vi)
#define vd OXI_ISA(vd)
#define vl OXI_ISA(vl)
#define vm OXI_ISA(vm)
#define vmd OXI_ISA(vmd)
#define VF OXI_ISA(VF)
#define VD OXI_ISA(VD)
#define vf_load OXI_ISA(vf_load)
#define vf_store OXI_ISA(vf_store)
#define vf_stream OXI_ISA(vf_stream)
#define vf_load_n OXI_ISA(vf_load_n)
#define vf_store_n OXI_ISA(vf_store_n)
#define vf_set1 OXI_ISA(vf_set1)
#define vf_constant OXI_ISA(vf_constant)
#define vf_zero OXI_ISA(vf_zero)
#define vf_add OXI_ISA(vf_add)
#define vf_sub OXI_ISA(vf_sub)
#define vf_mul OXI_ISA(vf_mul)
#define vf_div OXI_ISA(vf_div)
#define vf_fma OXI_ISA(vf_fma)
#define vf_fnma OXI_ISA(vf_fnma)
#define vf_min OXI_ISA(vf_min)
#define vf_max OXI_ISA(vf_max)
#define vf_sqrt OXI_ISA(vf_sqrt)
#define vf_abs OXI_ISA(vf_abs)
#define vf_neg OXI_ISA(vf_neg)
#define vf_copysign OXI_ISA(vf_copysign)
#define vf_round OXI_ISA(vf_round)
#define vf_floor OXI_ISA(vf_floor)
#define vf_ceil OXI_ISA(vf_ceil)
#define vf_trunc OXI_ISA(vf_trunc)
#define vf_and OXI_ISA(vf_and)
#define vf_or OXI_ISA(vf_or)
#define vf_xor OXI_ISA(vf_xor)
#define vf_andnot OXI_ISA(vf_andnot)
#define vf_lt OXI_ISA(vf_lt)
#define vf_le OXI_ISA(vf_le)
#define vf_gt OXI_ISA(vf_gt)
#define vf_ge OXI_ISA(vf_ge)
#define vf_eq OXI_ISA(vf_eq)
#define vf_ne OXI_ISA(vf_ne)
#define vf_unord OXI_ISA(vf_unord)
#define vf_select OXI_ISA(vf_select)
#define vf_hsum OXI_ISA(vf_hsum)
#define vf_hmax OXI_ISA(vf_hmax)
#define vf_hmin OXI_ISA(vf_hmin)
#define vf_load_f16 OXI_ISA(vf_load_f16)
#define vf_load2_f16 OXI_ISA(vf_load2_f16)
#define vf_store_f16 OXI_ISA(vf_store_f16)
#define vf_store2_f16 OXI_ISA(vf_store2_f16)
#define vf_load_bf16 OXI_ISA(vf_load_bf16)
#define vf_load2_bf16 OXI_ISA(vf_load2_bf16)
#define vf_store_bf16 OXI_ISA(vf_store_bf16)
#define vf_store2_bf16 OXI_ISA(vf_store2_bf16)
#define vf_pairs_f16 OXI_ISA(vf_pairs_f16)
#define vf_pairs_bf16 OXI_ISA(vf_pairs_bf16)
#define vf_scale OXI_ISA(vf_scale)
#define vi_load OXI_ISA(vi_load)
#define vi_store OXI_ISA(vi_store)
#define vi_set1 OXI_ISA(vi_set1)
#define vi_add OXI_ISA(vi_add)
#define vi_sub OXI_ISA(vi_sub)
#define vi_and OXI_ISA(vi_and)
#define vi_or OXI_ISA(vi_or)
#define vi_xor OXI_ISA(vi_xor)
#define vi_sll OXI_ISA(vi_sll)
#define vi_srl OXI_ISA(vi_srl)
#define vi_sra OXI_ISA(vi_sra)
#define vi_cmpeq OXI_ISA(vi_cmpeq)
#define vi_cmpgt OXI_ISA(vi_cmpgt)
#define vi_select OXI_ISA(vi_select)
#define vi_load_u8 OXI_ISA(vi_load_u8)
#define vi_load_i8 OXI_ISA(vi_load_i8)
#define vi_load_u16 OXI_ISA(vi_load_u16)
#define vi_load_i16 OXI_ISA(vi_load_i16)
#define vi_store_8 OXI_ISA(vi_store_8)
#define vi_store_16 OXI_ISA(vi_store_16)
#define vf_to_vi OXI_ISA(vf_to_vi)
#define vf_to_vi_trunc OXI_ISA(vf_to_vi_trunc)
#define vi_to_vf OXI_ISA(vi_to_vf)
#define vf_as_vi OXI_ISA(vf_as_vi)
#define vi_as_vf OXI_ISA(vi_as_vf)
#define vm_and OXI_ISA(vm_and)
#define vm_or OXI_ISA(vm_or)
#define vm_not OXI_ISA(vm_not)
#define vm_any OXI_ISA(vm_any)
#define vm_bits OXI_ISA(vm_bits)
#define vm_load_bool OXI_ISA(vm_load_bool)
#define vm_store_bool OXI_ISA(vm_store_bool)
#define vd_load OXI_ISA(vd_load)
#define vd_store OXI_ISA(vd_store)
#define vd_load_n OXI_ISA(vd_load_n)
#define vd_store_n OXI_ISA(vd_store_n)
#define vd_set1 OXI_ISA(vd_set1)
#define vd_constant OXI_ISA(vd_constant)
#define vd_zero OXI_ISA(vd_zero)
#define vd_add OXI_ISA(vd_add)
#define vd_sub OXI_ISA(vd_sub)
#define vd_mul OXI_ISA(vd_mul)
#define vd_div OXI_ISA(vd_div)
#define vd_fma OXI_ISA(vd_fma)
#define vd_fnma OXI_ISA(vd_fnma)
#define vd_min OXI_ISA(vd_min)
#define vd_max OXI_ISA(vd_max)
#define vd_sqrt OXI_ISA(vd_sqrt)
#define vd_abs OXI_ISA(vd_abs)
#define vd_neg OXI_ISA(vd_neg)
#define vd_copysign OXI_ISA(vd_copysign)
#define vd_round OXI_ISA(vd_round)
#define vd_floor OXI_ISA(vd_floor)
#define vd_ceil OXI_ISA(vd_ceil)
#define vd_trunc OXI_ISA(vd_trunc)
#define vd_and OXI_ISA(vd_and)
#define vd_or OXI_ISA(vd_or)
#define vd_xor OXI_ISA(vd_xor)
#define vd_andnot OXI_ISA(vd_andnot)
#define vd_lt OXI_ISA(vd_lt)
#define vd_le OXI_ISA(vd_le)
#define vd_gt OXI_ISA(vd_gt)
#define vd_ge OXI_ISA(vd_ge)
#define vd_eq OXI_ISA(vd_eq)
#define vd_ne OXI_ISA(vd_ne)
#define vd_unord OXI_ISA(vd_unord)
#define vd_select OXI_ISA(vd_select)
#define vd_hsum OXI_ISA(vd_hsum)
#define vd_from_vf_lo OXI_ISA(vd_from_vf_lo)
#define vd_from_vf_hi OXI_ISA(vd_from_vf_hi)
#define vf_from_vd OXI_ISA(vf_from_vd)
#define vd_load_f32 OXI_ISA(vd_load_f32)
#define vd_store_f32 OXI_ISA(vd_store_f32)
#define vd_nearest OXI_ISA(vd_nearest)
#define vd_from_vi_lo OXI_ISA(vd_from_vi_lo)
#define vd_from_vi_hi OXI_ISA(vd_from_vi_hi)
#define vmd_and OXI_ISA(vmd_and)
#define vmd_or OXI_ISA(vmd_or)
#define vmd_not OXI_ISA(vmd_not)
#define vmd_any OXI_ISA(vmd_any)
#define vmd_bits OXI_ISA(vmd_bits)
#define vmd_store_bool OXI_ISA(vmd_store_bool)
#define vl_set1 OXI_ISA(vl_set1)
#define vl_add OXI_ISA(vl_add)
#define vl_sub OXI_ISA(vl_sub)
#define vl_and OXI_ISA(vl_and)
#define vl_or OXI_ISA(vl_or)
#define vl_sll OXI_ISA(vl_sll)
#define vl_srl OXI_ISA(vl_srl)
#define vd_as_vl OXI_ISA(vd_as_vl)
#define vl_as_vd OXI_ISA(vl_as_vd)
#define VS OXI_ISA(VS)
#define VR OXI_ISA(VR)
#define VQ OXI_ISA(VQ)
#define vb OXI_ISA(vb)
#define vs OXI_ISA(vs)
#define vb_load OXI_ISA(vb_load)
#define vb_store OXI_ISA(vb_store)
#define vb_set1 OXI_ISA(vb_set1)
#define vb_and OXI_ISA(vb_and)
#define vb_or OXI_ISA(vb_or)
#define vb_sub OXI_ISA(vb_sub)
#define vb_right OXI_ISA(vb_right)
#define vb_left OXI_ISA(vb_left)
#define vb_nibbles OXI_ISA(vb_nibbles)
#define vb_look_up OXI_ISA(vb_look_up)
#define vb_bits OXI_ISA(vb_bits)
#define vs_zero OXI_ISA(vs_zero)
#define vs_sum OXI_ISA(vs_sum)
#define vs_load OXI_ISA(vs_load)
#define vs_store OXI_ISA(vs_store)
#define vs_set1 OXI_ISA(vs_set1)
#define vs_mul OXI_ISA(vs_mul)
#define vs_add OXI_ISA(vs_add)
#define vs_fma OXI_ISA(vs_fma)
#define vs_products OXI_ISA(vs_products)
#define vs_add_four OXI_ISA(vs_add_four)
#define vs_halves OXI_ISA(vs_halves)
#define vs_halves_8 OXI_ISA(vs_halves_8)
#define vs_bytes_8 OXI_ISA(vs_bytes_8)
#define vn OXI_ISA(vn)
#define vn_zero OXI_ISA(vn_zero)
#define vn_scaled OXI_ISA(vn_scaled)
#define vn_halves OXI_ISA(vn_halves)
#define vw OXI_ISA(vw)
#define vw_load OXI_ISA(vw_load)
#define vw_store OXI_ISA(vw_store)
#define vw_bytes OXI_ISA(vw_bytes)
#define vw_mul OXI_ISA(vw_mul)
#define vw_low OXI_ISA(vw_low)
#define vw_high OXI_ISA(vw_high)
#define vs_dot OXI_ISA(vs_dot)
#define vs_of_sums OXI_ISA(vs_of_sums)
#define vb_pair OXI_ISA(vb_pair)
#define vr OXI_ISA(vr)
#define vrs OXI_ISA(vrs)
#define vr_load OXI_ISA(vr_load)
#define vr_store OXI_ISA(vr_store)
#define vr_set1 OXI_ISA(vr_set1)
#define vr_spread OXI_ISA(vr_spread)
#define vr_and OXI_ISA(vr_and)
#define vr_or OXI_ISA(vr_or)
#define vr_sub OXI_ISA(vr_sub)
#define vr_look_up OXI_ISA(vr_look_up)
#define vr_right OXI_ISA(vr_right)
#define vr_left OXI_ISA(vr_left)
#define vrs_number OXI_ISA(vrs_number)
#define vrs_bits OXI_ISA(vrs_bits)
#define vrs_words OXI_ISA(vrs_words)
#define vrs_zero OXI_ISA(vrs_zero)
#define vrs_load OXI_ISA(vrs_load)
#define vrs_store OXI_ISA(vrs_store)
#define vrs_one OXI_ISA(vrs_one)
#define vrs_step OXI_ISA(vrs_step)
#define vrs_scaled OXI_ISA(vrs_scaled)
#define vrs_dot OXI_ISA(vrs_dot)
#define vrw_even OXI_ISA(vrw_even)
#define vrw_odd OXI_ISA(vrw_odd)
#define vrw_mul OXI_ISA(vrw_mul)
#define vrw_low OXI_ISA(vrw_low)
#define vrw_high OXI_ISA(vrw_high)
#define vq OXI_ISA(vq)
#define vqw OXI_ISA(vqw)
#define vq_zero OXI_ISA(vq_zero)
#define vq_load OXI_ISA(vq_load)
#define vq_weights OXI_ISA(vq_weights)
#define vq_spread OXI_ISA(vq_spread)
#define vq_step OXI_ISA(vq_step)
#define vq_sums OXI_ISA(vq_sums)
#define vf_exp_reduce OXI_ISA(vf_exp_reduce)
#define vf_expm1_poly OXI_ISA(vf_expm1_poly)
#define vf_exp_poly OXI_ISA(vf_exp_poly)
#define vf_exp_within OXI_ISA(vf_exp_within)
#define vf_exp OXI_ISA(vf_exp)
#define vf_exp_weight OXI_ISA(vf_exp_weight)
#define vf_exp2 OXI_ISA(vf_exp2)
#define vf_log_parts OXI_ISA(vf_log_parts)
#define vf_log_is_rare OXI_ISA(vf_log_is_rare)
#define vf_log_special OXI_ISA(vf_log_special)
#define vf_log_parts_any OXI_ISA(vf_log_parts_any)
#define vf_log OXI_ISA(vf_log)
#define vf_log2 OXI_ISA(vf_log2)
#define vf_log1p OXI_ISA(vf_log1p)
#define vf_softplus OXI_ISA(vf_softplus)
#define vf_logsigmoid OXI_ISA(vf_logsigmoid)
#define vf_tanh OXI_ISA(vf_tanh)
#define vf_sigmoid OXI_ISA(vf_sigmoid)
#define vf_erf OXI_ISA(vf_erf)
#define vf_gate OXI_ISA(vf_gate)
#define vf_gate_logistic OXI_ISA(vf_gate_logistic)
#define vf_silu OXI_ISA(vf_silu)
#define vd_gelu_tanh_argument OXI_ISA(vd_gelu_tanh_argument)
#define vf_gelu_tanh OXI_ISA(vf_gelu_tanh)
#define vf_gelu_term OXI_ISA(vf_gelu_term)
#define vf_gelu_any OXI_ISA(vf_gelu_any)
#define vf_gelu OXI_ISA(vf_gelu)
#define vd_minus_turns OXI_ISA(vd_minus_turns)
#define vf_reduce_turns OXI_ISA(vf_reduce_turns)
#define vf_sin_quarter OXI_ISA(vf_sin_quarter)
#define vf_sin OXI_ISA(vf_sin)
#define vf_cos OXI_ISA(vf_cos)
#define vd_exp_reduce OXI_ISA(vd_exp_reduce)
#define vd_expm1_poly OXI_ISA(vd_expm1_poly)
#define vd_exp OXI_ISA(vd_exp)
#define vd_expm1 OXI_ISA(vd_expm1)
#define vd_log OXI_ISA(vd_log)
#define vd_log1p OXI_ISA(vd_log1p)
#define vd_sinh OXI_ISA(vd_sinh)
#define vd_cosh OXI_ISA(vd_cosh)
#define vd_asinh OXI_ISA(vd_asinh)
#define vd_acosh OXI_ISA(vd_acosh)
#define vd_atanh OXI_ISA(vd_atanh)
#define vd_asin_poly OXI_ISA(vd_asin_poly)
#define vd_asin_part OXI_ISA(vd_asin_part)
#define vd_asin OXI_ISA(vd_asin)
#define vd_acos OXI_ISA(vd_acos)
#define vd_atan_poly OXI_ISA(vd_atan_poly)
#define vd_atan OXI_ISA(vd_atan)
#define vd_atan2 OXI_ISA(vd_atan2)
#define vd_tan OXI_ISA(vd_tan)
#define vd_erfc OXI_ISA(vd_erfc)
#define vd_pow OXI_ISA(vd_pow)
#define vd_hypot OXI_ISA(vd_hypot)
#define vd_fmod OXI_ISA(vd_fmod)
#define vd_rest_opposes OXI_ISA(vd_rest_opposes)
#define vd_remainder OXI_ISA(vd_remainder)
#define vd_floor_divide OXI_ISA(vd_floor_divide)
#define vd_mish OXI_ISA(vd_mish)
#define vd_softplus OXI_ISA(vd_softplus)
#define vd_elu OXI_ISA(vd_elu)
OXI_STRAIGHT_BEGIN
#undef OXI_TIER
#ifdef OXI_BUILD_C
#define OXI_TIER c
#undef OXI_SECTION
#define OXI_SECTION 1
#include OX_TORCH_NN_FILE
#undef OXI_SECTION
#undef OXI_TIER
#endif
#ifdef OXI_BUILD_SSE2
#define OXI_TIER sse2
#undef OXI_SECTION
#define OXI_SECTION 1
#include OX_TORCH_NN_FILE
#undef OXI_SECTION
#undef OXI_TIER
#endif
#ifdef OXI_BUILD_AVX
#define OXI_TIER avx
#undef OXI_SECTION
#define OXI_SECTION 1
#include OX_TORCH_NN_FILE
#undef OXI_SECTION
#undef OXI_TIER
#endif
#ifdef OXI_BUILD_AVX2
#define OXI_TIER avx2
#undef OXI_SECTION
#define OXI_SECTION 1
#include OX_TORCH_NN_FILE
#undef OXI_SECTION
#undef OXI_TIER
#endif
#ifdef OXI_BUILD_AVX512
#define OXI_TIER avx512
#undef OXI_SECTION
#define OXI_SECTION 1
#include OX_TORCH_NN_FILE
#undef OXI_SECTION
#undef OXI_TIER
#endif
#ifdef OXI_BUILD_NEON
#define OXI_TIER neon
#undef OXI_SECTION
#define OXI_SECTION 1
#include OX_TORCH_NN_FILE
#undef OXI_SECTION
#undef OXI_TIER
#endif
OXI_STRAIGHT_END
/* >>cpu/simd/vocabulary_end.inc */
#undef vf
#undef vi
#undef vd
#undef vl
#undef vm
#undef vmd
#undef vf_load
#undef vf_store
#undef vf_stream
#undef vf_load_n
#undef vf_store_n
#undef vf_set1
#undef vf_constant
#undef vf_zero
#undef vf_add
#undef vf_sub
#undef vf_mul
#undef vf_div
#undef vf_fma
#undef vf_fnma
#undef vf_min
#undef vf_max
#undef vf_sqrt
#undef vf_abs
#undef vf_neg
#undef vf_copysign
#undef vf_round
#undef vf_floor
#undef vf_ceil
#undef vf_trunc
#undef vf_and
#undef vf_or
#undef vf_xor
#undef vf_andnot
#undef vf_lt
#undef vf_le
#undef vf_gt
#undef vf_ge
#undef vf_eq
#undef vf_ne
#undef vf_unord
#undef vf_select
#undef vf_hsum
#undef vf_hmax
#undef vf_hmin
#undef vf_load_f16
#undef vf_load2_f16
#undef vf_store_f16
#undef vf_store2_f16
#undef vf_load_bf16
#undef vf_load2_bf16
#undef vf_store_bf16
#undef vf_store2_bf16
#undef vf_pairs_f16
#undef vf_pairs_bf16
#undef vf_scale
#undef vi_load
#undef vi_store
#undef vi_set1
#undef vi_add
#undef vi_sub
#undef vi_and
#undef vi_or
#undef vi_xor
#undef vi_sll
#undef vi_srl
#undef vi_sra
#undef vi_cmpeq
#undef vi_cmpgt
#undef vi_select
#undef vi_load_u8
#undef vi_load_i8
#undef vi_load_u16
#undef vi_load_i16
#undef vi_store_8
#undef vi_store_16
#undef vf_to_vi
#undef vf_to_vi_trunc
#undef vi_to_vf
#undef vf_as_vi
#undef vi_as_vf
#undef vm_and
#undef vm_or
#undef vm_not
#undef vm_any
#undef vm_bits
#undef vm_load_bool
#undef vm_store_bool
#undef vd_load
#undef vd_store
#undef vd_load_n
#undef vd_store_n
#undef vd_set1
#undef vd_constant
#undef vd_zero
#undef vd_add
#undef vd_sub
#undef vd_mul
#undef vd_div
#undef vd_fma
#undef vd_fnma
#undef vd_min
#undef vd_max
#undef vd_sqrt
#undef vd_abs
#undef vd_neg
#undef vd_copysign
#undef vd_round
#undef vd_floor
#undef vd_ceil
#undef vd_trunc
#undef vd_and
#undef vd_or
#undef vd_xor
#undef vd_andnot
#undef vd_lt
#undef vd_le
#undef vd_gt
#undef vd_ge
#undef vd_eq
#undef vd_ne
#undef vd_unord
#undef vd_select
#undef vd_hsum
#undef vd_from_vf_lo
#undef vd_from_vf_hi
#undef vf_from_vd
#undef vd_load_f32
#undef vd_store_f32
#undef vd_nearest
#undef vd_from_vi_lo
#undef vd_from_vi_hi
#undef vmd_and
#undef vmd_or
#undef vmd_not
#undef vmd_any
#undef vmd_bits
#undef vmd_store_bool
#undef vl_set1
#undef vl_add
#undef vl_sub
#undef vl_and
#undef vl_or
#undef vl_sll
#undef vl_srl
#undef vd_as_vl
#undef vl_as_vd
#undef vf_exp_reduce
#undef vf_expm1_poly
#undef vf_exp_poly
#undef vf_exp_within
#undef vf_exp
#undef vf_exp_weight
#undef vf_exp2
#undef vf_log_parts
#undef vf_log_is_rare
#undef vf_log_special
#undef vf_log_parts_any
#undef vf_log
#undef vf_log2
#undef vf_log1p
#undef vf_softplus
#undef vf_logsigmoid
#undef vf_tanh
#undef vf_sigmoid
#undef vf_erf
#undef vf_gate
#undef vf_gate_logistic
#undef vf_silu
#undef vd_gelu_tanh_argument
#undef vf_gelu_tanh
#undef vf_gelu_term
#undef vf_gelu_any
#undef vf_gelu
#undef vd_minus_turns
#undef vf_reduce_turns
#undef vf_sin_quarter
#undef vf_sin
#undef vf_cos
#undef vd_exp_reduce
#undef vd_expm1_poly
#undef vd_exp
#undef vd_expm1
#undef vd_log
#undef vd_log1p
#undef vd_sinh
#undef vd_cosh
#undef vd_asinh
#undef vd_acosh
#undef vd_atanh
#undef vd_asin_poly
#undef vd_asin_part
#undef vd_asin
#undef vd_acos
#undef vd_atan_poly
#undef vd_atan
#undef vd_atan2
#undef vd_tan
#undef vd_erfc
#undef vd_pow
#undef vd_hypot
#undef vd_fmod
#undef vd_rest_opposes
#undef vd_remainder
#undef vd_floor_divide
#undef vd_mish
#undef vd_softplus
#undef vd_elu
#undef vb
#undef vs
#undef vb_load
#undef vb_store
#undef vb_set1
#undef vb_and
#undef vb_or
#undef vb_sub
#undef vb_right
#undef vb_left
#undef vb_nibbles
#undef vb_look_up
#undef vb_bits
#undef vs_zero
#undef vs_sum
#undef vs_load
#undef vs_store
#undef vs_set1
#undef vs_mul
#undef vs_add
#undef vs_fma
#undef vs_products
#undef vs_add_four
#undef vs_halves
#undef vs_halves_8
#undef vs_bytes_8
#undef vn
#undef vn_zero
#undef vn_scaled
#undef vn_halves
#undef vw
#undef vw_load
#undef vw_store
#undef vw_bytes
#undef vw_mul
#undef vw_low
#undef vw_high
#undef vs_dot
#undef vs_of_sums
#undef vb_pair
#undef vr
#undef vrs
#undef vr_load
#undef vr_store
#undef vr_set1
#undef vr_spread
#undef vr_and
#undef vr_or
#undef vr_sub
#undef vr_look_up
#undef vr_right
#undef vr_left
#undef vrs_number
#undef vrs_bits
#undef vrs_words
#undef vrs_zero
#undef vrs_load
#undef vrs_store
#undef vrs_one
#undef vrs_step
#undef vrs_scaled
#undef vrs_dot
#undef vrw_even
#undef vrw_odd
#undef vrw_mul
#undef vrw_low
#undef vrw_high
#undef vq
#undef vqw
#undef vq_zero
#undef vq_load
#undef vq_weights
#undef vq_spread
#undef vq_step
#undef vq_sums
#undef VS
#undef VR
#undef VQ
#undef OXI_CODES_BYTES
#undef OXI_CODES_WORDS
#undef OXI_CODES_DOT
#undef OXI_CODES_WIDE
#undef OXI_CODES_MATRIX
#undef OXI_MULTIPLY_ADD
#undef VF
#undef VD
#undef OXI_INLINE
#undef OXI_KERNEL
#undef OXI_SHARED
#undef OXI_ISA
#undef OXI_PASTE_TIER_EXPANDED
#undef OXI_PASTE_TIER
#undef OXI_AS_WRITTEN
static const oxi_back_kernels*oxi_back_kernels_in_use(void){static const struct{const char*tier;
const oxi_back_kernels*kernels;}tiers[]={
#ifdef OXI_BUILD_C
{"c",&oxi_c_back},
#endif
#ifdef OXI_BUILD_SSE2
{"sse2",&oxi_sse2_back},
#endif
#ifdef OXI_BUILD_AVX
{"avx",&oxi_avx_back},
#endif
#ifdef OXI_BUILD_AVX2
{"avx2",&oxi_avx2_back},
#endif
#ifdef OXI_BUILD_AVX512
{"avx512",&oxi_avx512_back},{"amx",&oxi_avx512_back},
#endif
#ifdef OXI_BUILD_NEON
{"neon",&oxi_neon_back},
#endif
};
const char*used=oxi_cpu_kernels()->name;for(size_t i=1;i<sizeof tiers/sizeof*tiers;i++)
if(strcmp(tiers[i].tier,used)==0)return tiers[i].kernels;
return tiers[0].kernels;}
/* >>autograd/back/functions.c */
enum{OXI_FUNCTION_BACK_TASK=1<<14,OXI_FUNCTION_BACK_TILE=1024};typedef struct oxi_function_job{const ox_tensor*g,*x,*out;
const oxi_kernels*k;void(*kernel)(int64_t n,const float*g,const float*x,float*out,bool streams,const float*table);const float*table;
int64_t count;bool narrow,streams;}oxi_function_job;static void oxi_function_back_tile(const oxi_function_job*f,int64_t first,int64_t n){
OXI_ALIGNED float g[OXI_FUNCTION_BACK_TILE],x[OXI_FUNCTION_BACK_TILE];
f->k->load[f->g->dtype][OXI_LANE_F32](n,oxi_numbers_at(f->g,first),1,g);
f->k->load[f->x->dtype][OXI_LANE_F32](n,oxi_numbers_at(f->x,first),1,x);f->kernel(n,g,x,x,false,f->table);
f->k->store[f->out->dtype][OXI_LANE_F32](n,x,oxi_numbers_at(f->out,first),1);}
static void oxi_function_back_task(void*arg,int64_t index,int lane){const oxi_function_job*f=(const oxi_function_job*)arg;
int64_t first=index*OXI_FUNCTION_BACK_TASK,n=oxi_min_i64(OXI_FUNCTION_BACK_TASK,f->count-first);(void)lane;if(!f->narrow)
f->kernel(n,(const float*)(const void*)oxi_numbers_at(f->g,first),(const float*)(const void*)oxi_numbers_at(f->x,first),
(float*)(void*)oxi_numbers_at(f->out,first),f->streams,f->table);
for(int64_t end=first+n;f->narrow&&first<end;first+=OXI_FUNCTION_BACK_TILE)
oxi_function_back_tile(f,first,oxi_min_i64(OXI_FUNCTION_BACK_TILE,end-first));}
static double oxi_gelu_back_of(double a,bool by_tanh){double u=a*(1.5957691216057308 +0.07135481627260025*a*a),e=exp(-u),t=a*a;
if(by_tanh)return e*(1 +e-a*(1.5957691216057308 +0.21406444881780076*t))/(1 +e)/(1 +e);
return 0.5*erfc(a*0.70710678118654752)-a*0.39894228040143268*exp(-0.5*t);}
static void oxi_gelu_table(const oxi_back_kernels*own,bool by_tanh,float*table){int degree=own->degree;for(int i=0;i<own->picks-1;i++){
double x[9],y[9];
for(int k=0;k<=degree;k++){x[k]=own->step/2*cos(3.14159265358979324*(k+0.5)/(degree+1));
y[k]=oxi_gelu_back_of(i*own->step+x[k],by_tanh);}
for(int j=1;j<=degree;j++)
for(int k=degree;k>=j;k--)y[k]=(y[k]-y[k-1])/(x[k]-x[k-j]);
for(int j=degree-1;j>=0;j--)
for(int k=j;k<degree;k++)y[k]-=x[j]*y[k+1];
for(int k=0;k<=degree;k++)table[k*own->picks+i]=(float)y[k];}}
static float(*oxi_gelu_tables(const oxi_back_kernels*own))[160]{static OXI_ALIGNED float tables[2][160];static int64_t made;
static oxi_lock lock;if(!oxi_atomic_load(&made)){oxi_lock_take(&lock);
if(!oxi_atomic_load(&made)){oxi_gelu_table(own,false,tables[0]);
oxi_gelu_table(own,true,tables[1]);oxi_atomic_store(&made,1);}
oxi_lock_give(&lock);}
return tables;}
static ox_status oxi_function_back_run(const oxi_call*call){const oxi_back_kernels*own=oxi_back_kernels_in_use();
oxi_function_job f={call->in[0],call->in[1],call->out[0],oxi_cpu_kernels(),own->silu,NULL,0,false,false};if(call->op!=OXI_OP_silu_back){
f.kernel=own->gelu;f.table=oxi_gelu_tables(own)[call->op==OXI_OP_gelu_tanh_back];}
f.count=ox_numel(f.x);f.narrow=f.g->dtype!=OX_F32||f.x->dtype!=OX_F32||f.out->dtype!=OX_F32;f.streams=oxi_streams(f.out);
oxi_parallel_for(oxi_parts(f.count,OXI_FUNCTION_BACK_TASK),oxi_function_back_task,&f);
return OX_OK;}
/* >>autograd/back/rows.c */
static void oxi_softmax_row_back(const oxi_rows_back*r,const float*g,const float*y,float*out){
r->own->softmax(r->n,g,y,r->k->dot_f32(r->n,g,y),out,r->streams);}
static void oxi_log_softmax_row_back(const oxi_rows_back*r,const float*g,const float*y,float*out){
r->own->log_softmax(r->n,g,y,(float)r->k->row_sum(r->n,g,false),out,r->streams);}
static void oxi_softmax_rows(const oxi_rows_back*r,int64_t first,int64_t end){const float*g=r->in[0]+first*r->n,*y=r->in[1]+first*r->n;
float*out=(float*)(void*)oxi_ptr(r->call->out[0])+first*r->n;float along=r->k->dot_f32(r->n,g,y);
for(;first+1<end;first++,g+=r->n,y+=r->n,out+=r->n)
along=r->own->softmax_next(r->n,g,y,along,out,g+r->n,y+r->n);
r->own->softmax(r->n,g,y,along,out,true);}
static void oxi_rows_back_task(void*arg,int64_t index,int lane){const oxi_rows_back*r=(const oxi_rows_back*)arg;
const ox_tensor*out=r->call->out[0];int64_t n=r->n,each=r->each,end=oxi_min_i64((index+1)*each,r->rows);
float*room=r->scratch+lane*r->lane_numbers;if(r->row==oxi_softmax_row_back&&r->streams&&r->in[0]&&r->in[1]&&index*each<end){
oxi_softmax_rows(r,index*each,end);return;}
float*sums=r->sums?r->sums+index*2*r->step:NULL;for(int k=0;sums&&k<2;k++)
memset(sums+k*r->step,0,(size_t)n*sizeof*sums);
if(!r->row&&index*each<end)r->own->norm_rows(r,index*each,end,room,sums);
for(int64_t i=index*each;r->row&&i<end;i++){char*to=oxi_ptr(out)+oxi_signed_bytes(out->dtype,i*n);
float*result=r->narrow?room+4*n:(float*)(void*)to;r->row(r,oxi_back_read(r,0,i,room),oxi_back_read(r,1,i,room+n),result);
if(r->narrow)r->k->store[out->dtype][OXI_LANE_F32](n,result,to,1);}}
static void oxi_rows_back_join(const oxi_rows_back*r){for(int k=1;k<r->call->out_count;k++){float*sum=r->sums+(k-1)*r->step;
ox_tensor*out=r->call->out[k];if(r->goes_on)
r->k->axpy_f32(r->n,1,(const float*)(const void*)oxi_ptr(out),sum);
r->k->column_sums(r->n,r->tasks,sum,2*r->step,sum);r->k->store[out->dtype][OXI_LANE_F32](r->n,sum,oxi_ptr(out),1);}}
static void oxi_rows_back_shape(oxi_rows_back*r,const oxi_call*call,const oxi_part*part){const ox_tensor*x=call->in[1];
memset(r,0,sizeof*r);if(call->op==OXI_OP_softmax_back)r->row=oxi_softmax_row_back;
if(call->op==OXI_OP_log_softmax_back)r->row=oxi_log_softmax_row_back;
bool norm=call->op==OXI_OP_layer_norm_back||call->op==OXI_OP_rms_norm_back;int last=norm?(int)call->attr.norm.last_dims:1;
r->eps=norm?call->attr.norm.eps:0;r->call=call;r->k=oxi_cpu_kernels();r->own=oxi_back_kernels_in_use();r->n=1;
for(int d=x->ndim-last;d<x->ndim;d++)r->n*=x->shape[d];
r->rows=ox_numel(x)/r->n;r->share=1/(double)r->n;
for(int k=0;k<2;k++)
if(call->in[k]->dtype==OX_F32)r->in[k]=(const float*)(const void*)oxi_ptr(call->in[k]);
r->each=part&&part->rows>0?part->rows:oxi_back_task_rows(r->rows,r->n);r->tasks=oxi_parts(r->rows,r->each);
r->goes_on=part&&part->rows>0&&part->first>0;r->narrow=call->out[0]->dtype!=OX_F32;
r->streams=oxi_streams(call->out[0])&&!r->narrow&&(r->row||r->n>=2*OXI_LINE);r->step=r->n;
if(r->n>=OXI_PAGE_FLOATS/4)r->step=oxi_round_up(r->n,OXI_PAGE_FLOATS)+OXI_PAGE_FLOATS/2;
r->lane_numbers=oxi_round_up(5*r->n,OXI_LINE);}
static ox_status oxi_rows_back_run(const oxi_call*call,const oxi_part*part){oxi_rows_back r;oxi_rows_back_shape(&r,call,part);
const ox_tensor*weight=call->in_count>2?call->in[2]:NULL;const size_t quarter=OXI_PAGE_FLOATS/4;
size_t sums=call->out_count>1?(size_t)(r.tasks*2*r.step):0,own=weight?(size_t)r.n:0;
size_t lanes=(size_t)(oxi_lanes(r.tasks)*r.lane_numbers);size_t bytes=(lanes+sums+own+2*quarter+OXI_PAGE_FLOATS)*sizeof(float);
float*memory=(float*)oxi_alloc(bytes);if(!memory)return OX_ERR_NOMEM;
r.scratch=memory;float*rest=memory+lanes;rest+=(0 -(uintptr_t)rest)/sizeof*rest%OXI_PAGE_FLOATS+quarter;if(sums)r.sums=rest;
if(weight){r.k->load[weight->dtype][OXI_LANE_F32](r.n,oxi_ptr(weight),1,rest+sums+quarter);
r.weight=rest+sums+quarter;}
oxi_parallel_for(r.tasks,oxi_rows_back_task,&r);
if(sums)oxi_rows_back_join(&r);
oxi_free(memory,bytes);return OX_OK;}
/* >>autograd/back/channels.c */
enum{OXI_CHANNEL_PIECE=4096,OXI_CHANNEL_RUNS=64,OXI_CHANNEL_SHORT=16};typedef struct oxi_channels_back{const oxi_call*call;
const oxi_kernels*k;const oxi_back_kernels*own;int64_t samples,channels,size;int64_t together,piece,runs;
int64_t sample_parts,group_parts;bool batch,training,narrow,streams;double eps,count;
float*weight,*mean,*scale;oxi_channel_numbers*numbers;double*sums;
float*scratch;int64_t lane_numbers;}oxi_channels_back;typedef struct oxi_channels_task{int64_t sample,sample_end,channel,channel_end;
double*sums;
float*room;}oxi_channels_task;static oxi_channels_task oxi_channels_task_of(const oxi_channels_back*r,int64_t index,int lane){
oxi_channels_task t;int64_t samples=oxi_parts(r->samples,r->sample_parts);
int64_t groups=oxi_parts(r->channels/r->together,r->group_parts)*r->together;t.sample=index/r->group_parts*samples;
t.sample_end=oxi_min_i64(t.sample+samples,r->samples);t.channel=index%r->group_parts*groups;
t.channel_end=oxi_min_i64(t.channel+groups,r->channels);t.sums=r->sums+index/r->group_parts*2*r->channels;
t.room=r->scratch+lane*r->lane_numbers;return t;}
static void oxi_channel_sum(const oxi_channels_back*r,int64_t n,const float*g,const float*x,float mean,double*sum){oxi_norm_row row;
for(int64_t i=0;n<OXI_CHANNEL_SHORT&&i<n;i++){sum[0]+=(double)g[i]*(double)(x[i]-mean);
sum[1]+=(double)g[i];}
if(n<OXI_CHANNEL_SHORT)return;
memset(&row,0,sizeof row);row.n=n;row.g=g;row.x=x;row.centered=true;row.about=mean;r->own->norm_measure(&row);sum[0]+=row.along;
sum[1]+=row.total;}
static void oxi_channel_sums(const oxi_channels_back*r,int64_t at,int64_t runs,const float*mean,float*room,double*sum){
for(int64_t n,end=at+runs*r->size;at<end;at+=n){n=oxi_min_i64(end-at,r->piece);
const float*g=oxi_floats_of(r->k,r->call->in[0],at,n,room);const float*x=oxi_floats_of(r->k,r->call->in[1],at,n,room+r->piece);
for(int64_t i=0;i<runs;i++)
oxi_channel_sum(r,n/runs,g+i*r->size,x+i*r->size,mean[i],sum+2*i);}}
static void oxi_channel_write(const oxi_channels_back*r,int64_t at,int64_t runs,const oxi_channel_numbers*of,float*room){
ox_tensor*out=r->call->out[0];for(int64_t n,end=at+runs*r->size;at<end;at+=n){n=oxi_min_i64(end-at,r->piece);
const float*g=oxi_floats_of(r->k,r->call->in[0],at,n,room),*x=NULL;
float*to=r->narrow?room+2*r->piece:(float*)(void*)oxi_numbers_at(out,at);
if(r->training)x=oxi_floats_of(r->k,r->call->in[1],at,n,room+r->piece);
int64_t each=n/runs;for(int64_t first=0;first<n;first+=each){const oxi_channel_numbers*c=of+(runs>1?first/each:0);
if(!r->training)
r->k->row_scale(each,g+first,c->a,to+first);
else if(each>=OXI_CHANNEL_SHORT)
r->own->channel(each,g+first,x+first,c,to+first,r->streams);
else
for(int64_t i=first;i<first+each;i++)
to[i]=c->a*g[i]+(c->b*(x[i]-c->mean)+c->c);}
if(r->narrow)r->k->store[out->dtype][OXI_LANE_F32](n,to,oxi_numbers_at(out,at),1);}}
static oxi_channel_numbers oxi_channel_numbers_of(const oxi_channels_back*r,double weight,double mean,
double scale,double total,double along){oxi_channel_numbers c;
double slope=-scale*scale*along/r->count;
c.mean=(float)mean;c.a=(float)(weight*scale);c.b=(float)slope;c.c=(float)(-scale*total/r->count+slope*((double)c.mean-mean));
return c;}
static void oxi_batch_sums_task(void*arg,int64_t index,int lane){const oxi_channels_back*r=(const oxi_channels_back*)arg;
oxi_channels_task t=oxi_channels_task_of(r,index,lane);for(int64_t n=t.sample;n<t.sample_end;n++)
for(int64_t c=t.channel,runs;c<t.channel_end;c+=runs){double sum[2*OXI_CHANNEL_RUNS]={0};
runs=oxi_min_i64(r->runs,t.channel_end-c);oxi_channel_sums(r,(n*r->channels+c)*r->size,runs,r->mean+c,t.room,sum);
for(int64_t i=0;i<runs;i++){t.sums[c+i]+=(double)r->scale[c+i]*sum[2*i];
t.sums[r->channels+c+i]+=sum[2*i+1];}}}
static void oxi_batch_write_task(void*arg,int64_t index,int lane){const oxi_channels_back*r=(const oxi_channels_back*)arg;
oxi_channels_task t=oxi_channels_task_of(r,index,lane);for(int64_t n=t.sample;n<t.sample_end;n++)
for(int64_t c=t.channel,runs;c<t.channel_end;c+=runs){runs=oxi_min_i64(r->runs,t.channel_end-c);
oxi_channel_write(r,(n*r->channels+c)*r->size,runs,&r->numbers[c],t.room);}}
static void oxi_channels_join(const oxi_channels_back*r){for(int64_t p=1;p<r->sample_parts;p++)
for(int64_t i=0;i<2*r->channels;i++)r->sums[i]+=r->sums[p*2*r->channels+i];}
static void oxi_batch_back(oxi_channels_back*r){int64_t tasks=r->sample_parts*r->group_parts;
if(r->training||r->call->out_count>1)oxi_parallel_for(tasks,oxi_batch_sums_task,r);
oxi_channels_join(r);for(int64_t c=0;c<r->channels;c++){double weight=r->weight?(double)r->weight[c]:1;
r->numbers[c]=oxi_channel_numbers_of(r,weight,r->mean[c],r->scale[c],weight*r->sums[r->channels+c],weight*r->sums[c]);}
oxi_parallel_for(tasks,oxi_batch_write_task,r);}
static void oxi_group_back(const oxi_channels_back*r,const oxi_channels_task*t,int64_t n,int64_t c,double*own){
int64_t at=(n*r->channels+c)*r->size,count=r->together*r->size;double mean=0,squares=0,total=0,along=0;
oxi_partial p=oxi_partial_of(&mean,&squares);const float*x=oxi_floats_of(r->k,r->call->in[1],at,count,t->room+3*r->piece);
oxi_moments_row(r->k,&p,count,x,0);double scale=1/sqrt(squares/r->count+r->eps),rest=mean-(double)(float)mean;
float about=(float)mean;memset(own,0,(size_t)(2*r->together)*sizeof*own);for(int64_t i=0;i<r->together;i++){
double*sum=own+2*i,weight=r->weight?(double)r->weight[c+i]:1;
oxi_channel_sums(r,at+i*r->size,1,&about,t->room,sum);sum[0]=scale*(sum[0]-rest*sum[1]);along+=weight*sum[0];total+=weight*sum[1];
t->sums[c+i]+=sum[0];t->sums[r->channels+c+i]+=sum[1];}
for(int64_t i=0;i<r->together;i++){double weight=r->weight?(double)r->weight[c+i]:1;
oxi_channel_numbers numbers=oxi_channel_numbers_of(r,weight,mean,scale,total,along);oxi_channel_write(r,at+i*r->size,1,&numbers,t->room);
}}
static void oxi_group_task(void*arg,int64_t index,int lane){const oxi_channels_back*r=(const oxi_channels_back*)arg;
oxi_channels_task t=oxi_channels_task_of(r,index,lane);double*own=(double*)(void*)t.room;
t.room+=4*r->together;for(int64_t n=t.sample;n<t.sample_end;n++)
for(int64_t c=t.channel;c<t.channel_end;c+=r->together)oxi_group_back(r,&t,n,c,own);}
static void oxi_channels_shape(oxi_channels_back*r,const oxi_call*call){const oxi_attr_group_norm_back*told=&call->attr.group_norm_back;
const ox_tensor*x=call->in[1];memset(r,0,sizeof*r);r->call=call;r->k=oxi_cpu_kernels();r->own=oxi_back_kernels_in_use();
r->samples=x->shape[0];r->channels=x->shape[1];r->size=ox_numel(x)/(r->samples*r->channels);r->batch=told->groups==0;
r->training=told->training;r->eps=told->eps;r->together=r->batch?1:r->channels/told->groups;
r->count=(double)(r->batch?r->samples*r->size:r->together*r->size);
r->narrow=call->out[0]->dtype!=OX_F32;r->streams=oxi_streams(call->out[0])&&!r->narrow&&r->batch;
bool direct=!r->narrow&&call->in[0]->dtype==OX_F32&&x->dtype==OX_F32;r->piece=direct?r->size:oxi_min_i64(r->size,OXI_CHANNEL_PIECE);
r->runs=direct||!r->batch?1:oxi_min_i64(OXI_CHANNEL_PIECE/r->piece,OXI_CHANNEL_RUNS);r->piece*=r->runs;
int64_t tasks=oxi_min_i64(ox_numel(x)/OXI_BACK_BLOCK+1,OXI_BACK_TASKS);r->sample_parts=oxi_min_i64(r->samples,tasks);
r->group_parts=oxi_min_i64(r->channels/r->together,oxi_parts(tasks,r->sample_parts));r->lane_numbers=direct?0:3*r->piece;
if(!r->batch)r->lane_numbers+=4*r->together+(x->dtype==OX_F32?0:r->together*r->size);
r->lane_numbers=oxi_round_up(r->lane_numbers,OXI_LINE);}
static float*oxi_channels_load(const oxi_channels_back*r,int operand,float**room){
const ox_tensor*t=operand<r->call->in_count?r->call->in[operand]:NULL;float*to=*room;if(!t)return NULL;
r->k->load[t->dtype][OXI_LANE_F32](r->channels,oxi_ptr(t),t->stride[0],to);*room+=r->channels;return to;}
static void oxi_channels_store(const oxi_channels_back*r,float*room){for(int k=1;k<r->call->out_count;k++){
const ox_tensor*out=r->call->out[k];for(int64_t c=0;c<r->channels;c++)room[c]=(float)r->sums[(k-1)*r->channels+c];
r->k->store[out->dtype][OXI_LANE_F32](r->channels,room,oxi_ptr(out),out->stride[0]);}}
static ox_status oxi_channels_back_run(const oxi_call*call){oxi_channels_back r;oxi_channels_shape(&r,call);
int64_t tasks=r.sample_parts*r.group_parts,c=r.channels;
size_t sums=(size_t)(r.sample_parts*2*c),lanes=(size_t)(oxi_lanes(tasks)*r.lane_numbers);size_t bytes=
sums*sizeof(double)+(size_t)c*(sizeof*r.numbers+4*sizeof(float))+lanes*sizeof(float);
char*memory=(char*)oxi_alloc(bytes);if(!memory)return OX_ERR_NOMEM;
r.sums=(double*)(void*)memory;
r.scratch=(float*)(void*)(r.sums+sums);float*room=r.scratch+lanes;r.numbers=(oxi_channel_numbers*)(void*)room;
room=(float*)(void*)(r.numbers+c);memset(r.sums,0,sums*sizeof(double));
r.weight=oxi_channels_load(&r,2,&room);if(r.batch){r.mean=oxi_channels_load(&r,3,&room);
r.scale=oxi_channels_load(&r,4,&room);for(int64_t i=0;i<c;i++)r.scale[i]=(float)(1/sqrt((double)r.scale[i]+r.eps));
oxi_batch_back(&r);}else{oxi_parallel_for(tasks,oxi_group_task,&r);
oxi_channels_join(&r);}
oxi_channels_store(&r,room);oxi_free(memory,bytes);return OX_OK;}
/* >>autograd/back/steps.c */
enum{OXI_STEP_TASK=1<<13};typedef struct oxi_cells{const oxi_call*call;const oxi_kernels*k;void(*kernel)(const oxi_cell_row*r);
int64_t samples,width,each;float*scratch;int64_t lane_numbers;}oxi_cells;static void oxi_steps_task(void*arg,int64_t index,int lane){
const oxi_cells*s=(const oxi_cells*)arg;const oxi_call*call=s->call;int64_t end=oxi_min_i64((index+1)*s->each,s->samples);
for(int64_t i=index*s->each;i<end;i++){oxi_cell_row row;
float*room=s->scratch+lane*s->lane_numbers;memset(&row,0,sizeof row);row.n=s->width;
row.least=call->attr.recurrent.kind==OXI_RECURRENT_RELU?0:-1;for(int k=0;k<call->in_count;k++){const ox_tensor*t=call->in[k];
if(!t)continue;
row.in[k]=oxi_floats_of(s->k,t,i*t->shape[1],t->shape[1],room);room+=t->shape[1];}
for(int k=0;k<call->out_count;k++){const ox_tensor*t=call->out[k];
row.out[k]=t->dtype==OX_F32?(float*)(void*)oxi_numbers_at(t,i*t->shape[1]):room;room+=t->shape[1];}
s->kernel(&row);for(int k=0;k<call->out_count;k++){const ox_tensor*t=call->out[k];
char*to=oxi_numbers_at(t,i*t->shape[1]);if(t->dtype!=OX_F32)s->k->store[t->dtype][OXI_LANE_F32](t->shape[1],row.out[k],to,1);}}}
static ox_status oxi_steps_run(const oxi_call*call){const oxi_back_kernels*own=oxi_back_kernels_in_use();
bool back=call->op==OXI_OP_recurrent_step_back;void(*const kernels[OXI_RECURRENT_KINDS][2])(const oxi_cell_row*)={
{own->lstm,own->lstm_back},{own->gru,own->gru_back},{own->rnn,own->rnn_back},{own->rnn,own->rnn_back}};oxi_cells s;memset(&s,0,sizeof s);
s.call=call;s.k=oxi_cpu_kernels();s.kernel=kernels[call->attr.recurrent.kind][back];s.samples=call->in[0]->shape[0];
s.width=call->out[call->out_count-1]->shape[1];s.each=oxi_max_i64(OXI_STEP_TASK/s.width,1);for(int k=0;k<call->in_count;k++)
if(call->in[k])s.lane_numbers+=call->in[k]->shape[1];
for(int k=0;k<call->out_count;k++)s.lane_numbers+=call->out[k]->shape[1];
s.lane_numbers=oxi_round_up(s.lane_numbers,OXI_LINE);int64_t tasks=oxi_parts(s.samples,s.each);
size_t bytes=(size_t)(oxi_lanes(tasks)*s.lane_numbers)*sizeof(float);s.scratch=(float*)oxi_alloc(bytes);
if(!s.scratch)return OX_ERR_NOMEM;
oxi_parallel_for(tasks,oxi_steps_task,&s);
oxi_free(s.scratch,bytes);return OX_OK;}
/* >>autograd/back/attention.c */
enum{OXI_ATTENTION_BACK_UNITS=8,OXI_ATTENTION_BACK_KEYS=1024,OXI_ATTENTION_BACK_SCORES=1<<15};typedef struct oxi_attention_back_job{
oxi_attention a;oxi_attention_side dq,dk,dv;oxi_attention_side made;int64_t tile,span;int64_t blocks;float*sums,*scratch;
int64_t unit_numbers,lane_numbers;int64_t failed;}oxi_attention_back_job;typedef struct oxi_back_matrix{const void*at;ox_dtype dtype;
int64_t row,column;}oxi_back_matrix;static oxi_back_matrix oxi_back_numbers(const float*at,int64_t row,int64_t column){
oxi_back_matrix m={at,OX_F32,row,column};return m;}
static oxi_back_matrix oxi_back_rows(const oxi_attention_side*side,const char*head,int64_t row,bool transposed){
oxi_back_matrix m={oxi_attention_move(side,head,row*side->row),side->t->dtype,side->row,side->column};if(!transposed)return m;
m.row=side->column;m.column=side->row;return m;}
static void oxi_back_product(oxi_attention_back_job*job,int64_t m,int64_t n,int64_t k,oxi_back_matrix a,
oxi_back_matrix b,oxi_back_matrix c,double alpha,bool adds){oxi_gemm g;
memset(&g,0,sizeof g);g.m=m;g.n=n;g.k=k;g.a=a.at;g.a_row=a.row;g.a_col=a.column;g.a_dtype=a.dtype;g.b=b.at;g.b_row=b.row;
g.b_col=b.column;g.b_dtype=b.dtype;g.c=(void*)(uintptr_t)c.at;g.c_row=c.row;g.c_col=c.column;g.c_dtype=c.dtype;g.alpha=alpha;
g.rough=job->a.q.t->dtype==OX_BF16;if(adds){g.addend=c.at;
g.addend_dtype=c.dtype;g.addend_row=c.row;g.addend_col=c.column;g.beta=1;}
g.way=oxi_gemm_choose_way(&g);if(oxi_gemm_run(&g)!=OX_OK)oxi_atomic_store(&job->failed,1);}
typedef struct oxi_attention_back_task{int64_t batch,kv_head;float*dk,*dv,*scores,*back;float*slope;float*dq,*rows;
double*most,*sum,*along;
const char*k,*v,*mask;}oxi_attention_back_task;typedef struct oxi_attention_back_tile{int64_t h,s,n,first,keys;oxi_back_matrix q,g;
}oxi_attention_back_tile;static void oxi_attention_back_scores(oxi_attention_back_job*job,const oxi_attention_back_task*t,
const oxi_attention_back_tile*tile,int64_t first,int64_t keys){const oxi_attention*a=&job->a;
int64_t seen,end;oxi_back_product(job,tile->n,keys,a->depth,tile->q,oxi_back_rows(&a->k,t->k,first,true),
oxi_back_numbers(t->scores,keys,1),a->scale,false);
oxi_back_product(job,tile->n,keys,a->value_depth,tile->g,oxi_back_rows(&a->v,t->v,first,true),oxi_back_numbers(t->back,keys,1),1,false);
oxi_attention_cap(a,tile->n*keys,t->scores);for(int64_t i=0;a->softcap>0&&i<tile->n*keys;i++){float capped=t->scores[i]/a->softcap;
t->slope[i]=1 -capped*capped;}
for(int64_t i=0;i<tile->n;i++){oxi_attention_range(a,tile->s+i,&seen,&end);
if(a->mask.t||seen>first||end<first+keys)
oxi_attention_mask_row(a,t->mask,tile->h,tile->s+i,first,keys,t->scores+i*keys,1);}}
static void oxi_attention_back_measure(const oxi_attention_back_job*job,const oxi_attention_back_task*t,int64_t n,int64_t keys){
const oxi_kernels*k=job->a.kernels;for(int64_t i=0;i<n;i++){float*row=t->scores+i*keys,most=k->row_max(keys,row);
if(most==-INFINITY)continue;
double next=(double)most>t->most[i]||most!=most?(double)most:t->most[i];
double rescale=t->most[i]==-INFINITY?0:exp(t->most[i]-next);
t->sum[i]=t->sum[i]*rescale+k->row_exp_sum(keys,row,(float)next,row);t->along[i]=t->along[i]*rescale+k->dot_f32(keys,row,t->back+i*keys);
t->most[i]=next;}}
static void oxi_attention_back_finish(const oxi_attention*a,const oxi_attention_back_task*t,int64_t head,int64_t n){
for(int64_t i=0;i<n;i++){if(a->sinks&&t->sum[i]!=0)t->sum[i]+=exp((double)a->sinks[head*a->sink_step]-t->most[i]);
t->sum[i]=t->sum[i]==0?0:1/t->sum[i];t->along[i]*=t->sum[i];}}
static void oxi_attention_back_known(const oxi_attention_back_job*job,const oxi_attention_back_task*t,
const oxi_attention_back_tile*tile,int64_t head){const oxi_attention*a=&job->a;
const oxi_attention_side*sides[2]={&a->out,&job->made};const char*kept=oxi_attention_at(a,&a->logsumexp,t->batch,head);
for(int64_t i=0;i<tile->n;i++){for(int k=0;k<2;k++){const char*from=oxi_attention_at(a,sides[k],t->batch,head);
from=oxi_attention_move(sides[k],from,(tile->s+i)*sides[k]->row);
a->kernels->load[sides[k]->t->dtype][OXI_LANE_F32](a->value_depth,from,sides[k]->column,t->rows+k*a->value_depth);}
const char*at=oxi_attention_move(&a->logsumexp,kept,(tile->s+i)*a->logsumexp.row);t->most[i]=*(const float*)(const void*)at;t->sum[i]=1;
t->along[i]=a->kernels->dot_f32(a->value_depth,t->rows,t->rows+a->value_depth);}}
static void oxi_attention_back_keys(oxi_attention_back_job*job,const oxi_attention_back_task*t,
const oxi_attention_back_tile*tile,int64_t first,int64_t keys,bool fresh){const oxi_attention*a=&job->a;
const oxi_kernels*k=a->kernels;int64_t depth=a->depth,wide=a->value_depth,n=tile->n;
oxi_back_matrix weights=oxi_back_numbers(t->scores,1,keys),back=oxi_back_numbers(t->back,keys,1);for(int64_t i=0;i<n;i++){
float*row=t->scores+i*keys,*own=t->back+i*keys;if(t->sum[i]==0)
memset(row,0,(size_t)keys*sizeof*row);
else if(fresh)
k->row_exp_sum(keys,row,(float)t->most[i],row);
if(t->sum[i]!=1)k->row_scale(keys,row,(float)t->sum[i],row);
k->row_affine(keys,own,(float)t->along[i],a->scale,row,NULL,own,NULL);
for(int64_t j=0;a->softcap>0&&j<keys;j++)own[j]*=t->slope[i*keys+j];}
oxi_back_product(job,keys,wide,n,weights,tile->g,oxi_back_numbers(t->dv+first*wide,wide,1),1,true);
oxi_back_product(job,n,depth,keys,back,oxi_back_rows(&a->k,t->k,first,false),oxi_back_numbers(t->dq,depth,1),1,first!=tile->first);
back=oxi_back_numbers(t->back,1,keys);oxi_back_product(job,keys,depth,n,back,tile->q,oxi_back_numbers(t->dk+first*depth,depth,1),1,true);
}
static void oxi_attention_back_one(oxi_attention_back_job*job,const oxi_attention_back_task*t,oxi_attention_back_tile*tile){
const oxi_attention*a=&job->a;int64_t head=t->kv_head*a->group+tile->h,end=tile->first+tile->keys,span=job->span;
char*dq=oxi_attention_at(a,&job->dq,t->batch,head);tile->q=oxi_back_rows(&a->q,oxi_attention_at(a,&a->q,t->batch,head),tile->s,false);
tile->g=oxi_back_rows(&a->out,oxi_attention_at(a,&a->out,t->batch,head),tile->s,false);for(int64_t i=0;i<tile->n;i++){
t->most[i]=-INFINITY;t->sum[i]=t->along[i]=0;}
bool known=a->logsumexp.t!=NULL;for(int64_t first=tile->first;!known&&first<end;first+=span){int64_t keys=oxi_min_i64(end-first,span);
oxi_attention_back_scores(job,t,tile,first,keys);oxi_attention_back_measure(job,t,tile->n,keys);}
if(known)
oxi_attention_back_known(job,t,tile,head);
else
oxi_attention_back_finish(a,t,head,tile->n);
for(int64_t first=tile->first;first<end;first+=span){int64_t keys=oxi_min_i64(end-first,span);
bool again=known||tile->keys>span;if(again)oxi_attention_back_scores(job,t,tile,first,keys);
oxi_attention_back_keys(job,t,tile,first,keys,again);}
if(tile->keys<=0)memset(t->dq,0,(size_t)(tile->n*a->depth)*sizeof*t->dq);
for(int64_t i=0;i<tile->n;i++)
a->kernels->store[job->dq.t->dtype][OXI_LANE_F32](a->depth,t->dq+i*a->depth,oxi_attention_move(&job->dq,dq,(tile->s+i)*job->dq.row),
job->dq.column);}
static void oxi_attention_back_store(const oxi_attention_back_job*job,int64_t unit,const float*sums,int64_t first,int64_t count){
const oxi_attention*a=&job->a;const float*dk=sums,*dv=sums+a->keys*a->depth;
char*k=oxi_attention_at(a,&job->dk,unit/a->kv_heads,unit%a->kv_heads);
char*v=oxi_attention_at(a,&job->dv,unit/a->kv_heads,unit%a->kv_heads);for(int64_t t=first;t<first+count;t++){
a->kernels->store[job->dk.t->dtype][OXI_LANE_F32](a->depth,dk+t*a->depth,oxi_attention_move(&job->dk,k,t*job->dk.row),job->dk.column);
a->kernels->store[job->dv.t->dtype][OXI_LANE_F32](a->value_depth,dv+t*a->value_depth,oxi_attention_move(&job->dv,v,t*job->dv.row),
job->dv.column);}}
static void oxi_attention_back_run_task(void*arg,int64_t index,int lane){oxi_attention_back_job*job=(oxi_attention_back_job*)arg;
const oxi_attention*a=&job->a;int64_t unit=index/job->blocks,block=index%job->blocks;float*own=job->scratch+lane*job->lane_numbers;
oxi_attention_back_task t;t.batch=unit/a->kv_heads;t.kv_head=unit%a->kv_heads;t.most=(double*)(void*)own;
t.sum=t.most+job->tile;t.along=t.sum+job->tile;t.dq=own+6*job->tile;t.rows=t.dq+job->tile*a->depth;t.scores=t.rows+2*a->value_depth;
t.back=t.scores+job->tile*job->span;t.slope=t.back+job->tile*job->span;own=a->softcap>0?t.slope+job->tile*job->span:t.slope;
t.dk=job->blocks>1?job->sums+index*job->unit_numbers:own;t.dv=t.dk+a->keys*a->depth;t.k=oxi_attention_at(a,&a->k,t.batch,t.kv_head);
t.v=oxi_attention_at(a,&a->v,t.batch,t.kv_head);t.mask=a->mask.t?oxi_attention_at(a,&a->mask,t.batch,t.kv_head*a->group):NULL;
memset(t.dk,0,(size_t)job->unit_numbers*sizeof*t.dk);for(int64_t h=0;h<a->group;h++)
for(int64_t s=block*job->tile;s<a->length;s+=job->blocks*job->tile){oxi_attention_back_tile tile;
int64_t end,ignored;tile.h=h;tile.s=s;tile.n=oxi_min_i64(job->tile,a->length-s);oxi_attention_range(a,s,&tile.first,&ignored);
oxi_attention_range(a,s+tile.n-1,&ignored,&end);tile.keys=end-tile.first;oxi_attention_back_one(job,&t,&tile);}
if(job->blocks==1)oxi_attention_back_store(job,unit,t.dk,0,a->keys);}
static void oxi_attention_back_join(void*arg,int64_t index,int lane){const oxi_attention_back_job*job=(const oxi_attention_back_job*)arg;
const oxi_attention*a=&job->a;int64_t parts=OXI_ATTENTION_BACK_UNITS,each=oxi_parts(a->keys,parts),unit=index/parts;
int64_t first=index%parts*each,count=oxi_min_i64(each,a->keys-first);
float*sums=job->sums+unit*job->blocks*job->unit_numbers,*dv=sums+a->keys*a->depth;(void)lane;if(count<=0)return;
for(int64_t b=1;b<job->blocks;b++){int64_t from=b*job->unit_numbers;
a->kernels->axpy_f32(count*a->depth,1,sums+from+first*a->depth,sums+first*a->depth);
a->kernels->axpy_f32(count*a->value_depth,1,dv+from+first*a->value_depth,dv+first*a->value_depth);}
oxi_attention_back_store(job,unit,sums,first,count);}
static void oxi_attention_back_shape(oxi_attention_back_job*job,const oxi_call*call,const oxi_part*part){
ox_tensor*in[5]={call->in[1],call->in[2],call->in[3],call->in[4],call->in[5]};oxi_call forth=*call;memset(job,0,sizeof*job);
bool known=call->in_count>6;if(known)in[4]=NULL;
forth.in=in;forth.in_count=5;forth.out_count=known?2:1;forth.out[0]=call->in[0];forth.out[1]=known?call->in[5]:NULL;
oxi_attention_shape(&job->a,&forth);oxi_attention*a=&job->a;a->call=call;
if(known)oxi_attention_side_of(&job->made,call->in[6],a->heads,a->length,a->value_depth);
oxi_attention_side_of(&job->dq,call->out[0],a->heads,a->length,a->depth);
oxi_attention_side_of(&job->dk,call->out[1],a->kv_heads,a->keys,a->depth);
oxi_attention_side_of(&job->dv,call->out[2],a->kv_heads,a->keys,a->value_depth);
int64_t units=part&&part->heads>0?part->heads:a->batches*a->kv_heads;
job->span=a->keys<=OXI_ATTENTION_BACK_KEYS?a->keys:OXI_ATTENTION_BACK_KEYS/2;
job->tile=oxi_min_i64(oxi_max_i64(OXI_ATTENTION_BACK_SCORES/job->span/16*16,16),128);job->tile=oxi_min_i64(job->tile,a->length);
job->blocks=oxi_min_i64(oxi_parts(OXI_ATTENTION_BACK_UNITS,units),oxi_parts(a->length,job->tile));
job->unit_numbers=a->keys*(a->depth+a->value_depth);job->lane_numbers=job->tile*((a->softcap>0?3:2)*job->span+a->depth+6);
job->lane_numbers+=2*a->value_depth;if(job->blocks==1)job->lane_numbers+=job->unit_numbers;
job->lane_numbers=oxi_round_up(job->lane_numbers,OXI_LINE);}
static ox_status oxi_attention_back_run(const oxi_call*call,const oxi_part*part){oxi_attention_back_job job;
oxi_attention_back_shape(&job,call,part);int64_t units=job.a.batches*job.a.kv_heads,tasks=units*job.blocks;
size_t lanes=(size_t)oxi_lanes(tasks),bytes=0,sums=0;bool fits=oxi_mul_size(lanes,(size_t)job.lane_numbers*sizeof(float),&bytes);
if(job.blocks>1)
fits=fits&&oxi_mul_size((size_t)tasks,(size_t)job.unit_numbers*sizeof(float),&sums);
if(!fits)return oxi_fail(OX_ERR_NOMEM,"attention_back: too large for this machine");
job.scratch=(float*)oxi_alloc(bytes);job.sums=job.scratch&&sums?(float*)oxi_alloc(sums):NULL;bool there=job.scratch&&(job.sums||!sums);
if(there)oxi_parallel_for(tasks,oxi_attention_back_run_task,&job);
if(there&&sums)oxi_parallel_for(units*OXI_ATTENTION_BACK_UNITS,oxi_attention_back_join,&job);
oxi_free(job.sums,sums);oxi_free(job.scratch,bytes);return there&&!job.failed?OX_OK:OX_ERR_NOMEM;}
/* >>autograd/back/back.c */
static ox_status oxi_run_back(const oxi_call*call,const oxi_part*part){switch(call->op){
case OXI_OP_attention_back:return oxi_attention_back_run(call,part);case OXI_OP_gelu_back:
case OXI_OP_gelu_tanh_back:
case OXI_OP_silu_back:return oxi_function_back_run(call);
case OXI_OP_group_norm_back:return oxi_channels_back_run(call);case OXI_OP_recurrent_step:
case OXI_OP_recurrent_step_back:return oxi_steps_run(call);
default:return oxi_rows_back_run(call,part);}}
static bool oxi_back_reads(const ox_tensor*t){return oxi_is_float(t->dtype)&&t->dtype!=OX_F64;}
static bool oxi_back_may(const oxi_backward*b){return!ox_is_grad_enabled()&&oxi_cpu_back&&b->g[0]&&oxi_back_reads(b->g[0]);}
static ox_status oxi_function_back(oxi_op op,ox_tensor*x,ox_tensor*g,ox_tensor**out){*out=NULL;
if(op==OXI_OP_COUNT||ox_is_grad_enabled()||!oxi_cpu_back||!x||!g)return OX_OK;
if(!oxi_back_reads(x)||!oxi_back_reads(g)||ox_numel(x)==0)return OX_OK;
bool alike=x->ndim==g->ndim&&memcmp(x->shape,g->shape,(size_t)x->ndim*sizeof*x->shape)==0;
if(!alike||!ox_is_contiguous(x)||!ox_is_contiguous(g))return OX_OK;
ox_tensor*in[2];in[0]=g;in[1]=x;oxi_call call=oxi_call_of(op,in,2,NULL);call.out_count=1;if(!oxi_call_runs_there(&call))return OX_OK;
ox_status status=oxi_apply(&call);*out=call.out[0];return status;}
static ox_status oxi_back_call(oxi_op op,const oxi_backward*b,ox_tensor*const*in,int in_count,int count,ox_tensor**out,bool*done){
oxi_call call=oxi_call_of(op,in,in_count,NULL);call.attr=b->call->attr;call.out_count=count;*done=false;
if(!oxi_call_runs_there(&call))return OX_OK;
ox_status status=oxi_apply(&call);for(int k=0;k<count;k++)out[k]=call.out[k];
*done=status==OX_OK;
return status;}
static bool oxi_back_rows_fit(const ox_tensor*x,int last){int64_t n=1;
if(!x||!oxi_back_reads(x)||ox_numel(x)==0||last>x->ndim)return false;
for(int d=x->ndim-last;d<x->ndim;d++)n*=x->shape[d];
return n<=OXI_BACK_ROW_MOST;}
static ox_status oxi_softmax_back(oxi_backward*b,oxi_op op,bool*done){ox_tensor*y=b->out[0],*in[2];
*done=false;
if(!oxi_back_may(b)||!y||y->ndim==0||b->call->attr.along.dim!=y->ndim-1)return OX_OK;
if(!oxi_back_rows_fit(y,1))return OX_OK;
in[0]=ox_contiguous(b->g[0]);in[1]=ox_contiguous(y);return in[0]&&in[1]?oxi_back_call(op,b,in,2,1,b->grad,done):ox_error();}
static ox_status oxi_norm_back(oxi_backward*b,oxi_op op,bool*done){const oxi_call*call=b->call;
ox_tensor*x=call->in[0],*weight=call->in[1],*in[3],*out[3];int last=(int)call->attr.norm.last_dims,count=1;*done=false;
if(!oxi_back_may(b)||!b->wants[0]||!oxi_back_rows_fit(x,last))return OX_OK;
if(weight&&!oxi_back_reads(weight))return OX_OK;
if(weight&&b->wants[1])count=2;
bool biased=call->in_count>2&&b->wants[2];if(count==2&&biased&&b->operand[2].dtype==weight->dtype)count=3;
in[0]=ox_contiguous(b->g[0]);in[1]=ox_contiguous(x);in[2]=weight?ox_contiguous(weight):NULL;
if(!in[0]||!in[1]||(weight&&!in[2]))return ox_error();
ox_status status=oxi_back_call(op,b,in,weight?3:2,count,out,done);
if(status!=OX_OK||!*done)return status;
for(int k=0;k<count;k++)b->grad[k]=out[k];
if(biased&&count<3)b->grad[2]=b->g[0];
return OX_OK;}
static ox_status oxi_channels_back_apply(oxi_backward*b,const oxi_attr_group_norm_back*told,
ox_tensor*weight,ox_tensor*mean,ox_tensor*variance,int count,ox_tensor**out,bool*done){
ox_tensor*x=b->call->in[0],*own[3]={weight,mean,variance},*in[5];int64_t row=1;*done=false;
if(!oxi_back_may(b)||!x||!oxi_back_reads(x)||ox_numel(x)==0)return OX_OK;
for(int d=1;d<x->ndim;d++)row*=x->shape[d];
if(told->groups>0&&x->dtype!=OX_F32&&row/told->groups>OXI_BACK_ROW_MOST)return OX_OK;
for(int i=0;i<3;i++)
if(own[i]&&!oxi_back_reads(own[i]))return OX_OK;
in[0]=ox_contiguous(b->g[0]);in[1]=ox_contiguous(x);for(int i=0;i<3;i++)in[2 +i]=own[i]?ox_contiguous(own[i]):NULL;
if(!in[0]||!in[1])return ox_error();
oxi_backward with=*b;oxi_call call=*b->call;call.attr=oxi_attrs_group_norm_back();call.attr.group_norm_back=*told;with.call=&call;
return oxi_back_call(OXI_OP_group_norm_back,&with,in,5,count,out,done);}
static ox_status oxi_channels_back_by_row(oxi_backward*b,const oxi_attr_group_norm_back*told,int at,
ox_tensor*mean,ox_tensor*variance,bool*done){ox_tensor*weight=b->call->in[at],*out[3];
int count=weight&&b->wants[at]?2:1;*done=false;
if(!b->wants[0])return OX_OK;
if(count==2&&b->wants[at+1]&&b->operand[at+1].dtype==weight->dtype)count=3;
ox_status status=oxi_channels_back_apply(b,told,weight,mean,variance,count,out,done);
if(status!=OX_OK||!*done)return status;
b->grad[0]=out[0];for(int k=1;k<count;k++)b->grad[at+k-1]=out[k];
if(b->wants[at+1]&&count<3)
status=oxi_gives(b,at+1,oxi_summed_by_channel(oxi_wide(b->g[0])));
return status;}
static ox_tensor*oxi_sinks_back(const oxi_backward*b){
ox_tensor*along=ox_sum(ox_mul(oxi_wide(b->g[0]),oxi_wide(b->out[0])),OX_DIMS(-1),false);
ox_tensor*weight=ox_exp(ox_sub(ox_unsqueeze(b->call->in[4],1),b->out[1]));return ox_neg(ox_sum(ox_mul(weight,along),OX_DIMS(-1),false));}
static ox_status oxi_attention_back_by_row(oxi_backward*b,bool*done){const oxi_call*call=b->call;
ox_tensor*in[7],*out[3];bool known=b->out[0]&&b->out[1];*done=false;
if(!oxi_back_may(b)||b->wants[3]||(b->wants[4]&&!known))return OX_OK;
in[0]=b->g[0];for(int i=0;i<5;i++){ox_tensor*t=in[i+1]=call->in[i];
bool reads=t?oxi_back_reads(t)||(i==3&&t->dtype==OX_BOOL):i>2;if(!reads)return OX_OK;}
if(known){in[5]=b->out[1];
in[6]=b->out[0];}
ox_status status=oxi_back_call(OXI_OP_attention_back,b,in,known?7:6,3,out,done);
if(status!=OX_OK||!*done)return status;
for(int i=0;i<3;i++)b->grad[i]=out[i];
return b->wants[4]?oxi_gives(b,4,oxi_sinks_back(b)):OX_OK;}
/* >>autograd/rules/reductions.c */
OXI_GRADIENT_RULE(sum){return oxi_gives(b,0,oxi_spread(b,b->g[0]));}
OXI_GRADIENT_RULE(nansum){return oxi_gives(b,0,ox_where(ox_isnan(b->call->in[0]),ox_number(0),oxi_spread(b,b->g[0])));}
OXI_GRADIENT_RULE(mean){return oxi_gives(b,0,oxi_spread(b,ox_div_number(b->g[0],oxi_reduced_count(b))));}
static ox_tensor*oxi_product_before(ox_tensor*x){if(!x)return NULL;
int last=x->ndim-1;ox_shape one=ox_shape_of(x);one.dim[last]=1;ox_tensor*parts[2];
parts[0]=ox_expand(oxi_constant_beside(x,OX_SCALAR_SHAPE,1),one);parts[1]=ox_cumprod(ox_narrow(x,last,0,x->shape[last]-1),last);
return parts[0]&&parts[1]?ox_cat(parts,2,last):NULL;}
static ox_tensor*oxi_backwards(ox_tensor*x,int dim){return ox_slice(x,dim,OX_END,OX_END,-1);}
OXI_GRADIENT_RULE(prod){ox_tensor*x=oxi_wide(b->call->in[0]),*g=oxi_wide(b->g[0]);if(!x)return ox_error();
ox_shape shape=ox_shape_of(x),order=OX_SCALAR_SHAPE,back=OX_SCALAR_SHAPE,line=OX_SCALAR_SHAPE;uint32_t reduced=b->call->attr.reduce.dims;
if(ox_numel(x)==0)return OX_OK;
for(int d=0;d<x->ndim;d++)
if(!(reduced>>d&1))order.dim[order.ndim++]=d;
for(int d=0;d<order.ndim;d++)line.dim[line.ndim++]=shape.dim[order.dim[d]];
line.dim[line.ndim++]=1;g=ox_reshape(g,line);for(int d=0;d<x->ndim;d++)
if(reduced>>d&1)order.dim[order.ndim++]=d;
for(int d=0;d<x->ndim;d++)shape.dim[d]=b->operand[0].shape[order.dim[d]];
back.ndim=x->ndim;for(int d=0;d<x->ndim;d++)back.dim[order.dim[d]]=d;
line.dim[line.ndim-1]=-1;ox_tensor*lines=ox_reshape(x->ndim?ox_permute(x,order):x,line);int last=line.ndim-1;
ox_tensor*others=ox_mul(oxi_product_before(lines),oxi_backwards(oxi_product_before(oxi_backwards(lines,last)),last));
if(others&&others->dtype==OX_C64)others=ox_conj(others);
ox_tensor*gradient=ox_reshape(ox_mul(g,others),shape);return oxi_gives(b,0,x->ndim?ox_permute(gradient,back):gradient);}
OXI_GRADIENT_RULE(extreme){ox_tensor*g=oxi_wide(oxi_with_reduced(b,b->g[0]));
ox_tensor*alike=ox_eq(b->call->in[0],oxi_with_reduced(b,b->out[0]));
ox_tensor*count=oxi_as_dtype_of(ox_sum(alike,oxi_reduced_dims(b),true),g);
return oxi_gives(b,0,ox_div(ox_where(alike,g,ox_number(0)),count));}
OXI_GRADIENT_RULE(chosen){if(b->operand[0].ndim==0)return oxi_gives(b,0,b->g[0]);
int dim=0;while(!(b->call->attr.reduce.dims>>dim&1))dim++;
ox_tensor*g=oxi_with_reduced(b,b->g[0]),*index=oxi_with_reduced(b,b->out[1]);
return oxi_gives(b,0,ox_scatter(oxi_zeros_for(b,0,g),dim,index,g));}
static ox_tensor*oxi_variance_back(const oxi_backward*b,ox_tensor*g){ox_tensor*x=oxi_wide(b->call->in[0]);
double freedom=oxi_reduced_count(b)-b->call->attr.moments.correction;
ox_tensor*apart=ox_sub(x,ox_mean(x,oxi_reduced_dims(b),true));return ox_mul(apart,ox_mul_number(oxi_with_reduced(b,g),2/freedom));}
OXI_GRADIENT_RULE(var){return oxi_gives(b,0,oxi_variance_back(b,oxi_wide(b->g[0])));}
OXI_GRADIENT_RULE(std){ox_tensor*y=oxi_wide(b->out[0]),*g=oxi_wide(b->g[0]);
g=ox_where(ox_eq(y,ox_number(0)),ox_number(0),ox_div(g,ox_mul_number(y,2)));return oxi_gives(b,0,oxi_variance_back(b,g));}
OXI_GRADIENT_RULE(logsumexp){ox_tensor*x=oxi_wide(b->call->in[0]),*y=oxi_wide(oxi_with_reduced(b,b->out[0]));if(x!=b->call->in[0]){
ox_tensor*rest=ox_logsumexp(ox_detach(x),oxi_reduced_dims(b),true);rest=ox_sub(rest,ox_detach(y));
y=ox_add(y,ox_where(ox_isfinite(rest),rest,ox_number(0)));}
ox_tensor*share=ox_exp(ox_sub(x,y));if(share&&share->dtype==OX_C64)share=ox_conj(share);
return oxi_gives(b,0,ox_mul(share,oxi_wide(oxi_with_reduced(b,b->g[0]))));}
static ox_tensor*oxi_direction(ox_tensor*x){if(!x||x->dtype!=OX_C64)return ox_sign(x);
ox_tensor*size=ox_abs(x);return ox_where(ox_eq(size,ox_number(0)),ox_number(0),ox_div(x,size));}
OXI_GRADIENT_RULE(abs){if(b->operand[0].dtype!=OX_C64)return oxi_gradient_by_formula(oxi_gradient_row_of(OXI_OP_abs),b);
return oxi_gives(b,0,ox_mul(oxi_direction(b->call->in[0]),b->g[0]));}
static ox_tensor*oxi_norm_of_extremes(const oxi_backward*b,ox_tensor*x,ox_tensor*y,ox_tensor*g){ox_tensor*size=ox_abs(x);
ox_tensor*both=ox_logical_and(ox_isnan(size),ox_isnan(y));ox_tensor*alike=ox_logical_or(ox_eq(size,y),both);
ox_tensor*count=oxi_as_dtype_of(ox_sum(alike,oxi_reduced_dims(b),true),g);ox_tensor*share=ox_where(alike,ox_div(g,count),ox_number(0));
return ox_mul(oxi_direction(x),share);}
static ox_tensor*oxi_zero_where_zero(ox_tensor*of,ox_tensor*t){return ox_where(ox_eq(of,ox_number(0)),ox_number(0),t);}
static ox_tensor*oxi_over_norm(ox_tensor*g,ox_tensor*y,double power){ox_tensor*safe=ox_where(ox_eq(y,ox_number(0)),ox_number(1),y);
return oxi_zero_where_zero(y,ox_div(g,power==1?safe:ox_pow_number(safe,power)));}
OXI_GRADIENT_RULE(norm){double p=b->call->attr.power.p;
ox_tensor*x=oxi_wide(b->call->in[0]);ox_tensor*y=oxi_wide(oxi_with_reduced(b,b->out[0])),*g=oxi_wide(oxi_with_reduced(b,b->g[0]));
if(p==0)return OX_OK;
if(p==1)return oxi_gives(b,0,ox_mul(oxi_direction(x),g));
if(isinf(p))return oxi_gives(b,0,oxi_norm_of_extremes(b,x,y,g));
if(p==2)return oxi_gives(b,0,ox_mul(x,oxi_over_norm(g,y,1)));
ox_tensor*powers;if(p<1)
powers=ox_mul(oxi_direction(x),ox_pow_number(ox_abs(x),p-1));
else
powers=ox_mul(x,ox_pow_number(ox_abs(x),p-2));
if(p<2)powers=oxi_zero_where_zero(x,powers);
ox_tensor*rest=p<1?ox_mul(g,ox_pow_number(y,1 -p)):oxi_over_norm(g,y,p-1);return oxi_gives(b,0,ox_mul(powers,rest));}
/* >>autograd/rules/scans.c */
static ox_tensor*oxi_sums_to_end(ox_tensor*g,int dim){if(!g||g->ndim==0)return g;
return oxi_backwards(ox_cumsum(oxi_backwards(g,dim),dim),dim);}
OXI_GRADIENT_RULE(cumsum){return oxi_gives(b,0,oxi_sums_to_end(oxi_wide(b->g[0]),b->call->attr.along.dim));}
static ox_tensor*oxi_sums_of_products(ox_tensor*g,ox_tensor*x,int dim){if(!g)return NULL;
int64_t count=g->shape[dim];ox_tensor*sums=g,*reach=ox_narrow(x,dim,1,count-1);for(int64_t step=1;step<count;step*=2){
int64_t left=count-step;ox_tensor*parts[2];parts[0]=ox_add(ox_narrow(sums,dim,0,left),ox_mul(reach,ox_narrow(sums,dim,step,left)));
parts[1]=ox_narrow(sums,dim,left,step);if(!parts[0]||!parts[1])return NULL;
sums=ox_cat(parts,2,dim);if(left>step)
reach=ox_mul(ox_narrow(reach,dim,0,left-step),ox_narrow(reach,dim,step,left-step));}
return sums;}
OXI_GRADIENT_RULE(cumprod){int dim=b->call->attr.along.dim;
ox_tensor*x=oxi_wide(b->call->in[0]),*y=oxi_wide(b->out[0]),*g=oxi_wide(b->g[0]),*parts[2];
if(b->operand[0].ndim==0)return oxi_gives(b,0,g);
if(oxi_outline_numel(&b->operand[0])==0)return OX_OK;
if(x&&x->dtype==OX_C64){x=ox_conj(x);
y=ox_conj(y);}
ox_shape one=oxi_outline_shape(&b->operand[0]);one.dim[dim]=1;parts[0]=ox_expand(oxi_constant_beside(y,OX_SCALAR_SHAPE,1),one);
parts[1]=ox_narrow(y,dim,0,b->operand[0].shape[dim]-1);if(!parts[0]||!parts[1])return ox_error();
return oxi_gives(b,0,ox_mul(ox_cat(parts,2,dim),oxi_sums_of_products(g,x,dim)));}
OXI_GRADIENT_RULE(sorted){ox_tensor*g=b->g[0];if(b->operand[0].ndim==0)return oxi_gives(b,0,g);
return oxi_gives(b,0,ox_scatter(oxi_zeros_for(b,0,g),b->call->attr.sort.dim,b->out[1],g));}
/* >>autograd/rules/rows.c */
static ox_shape oxi_along_dims(const oxi_backward*b){return oxi_dims_of_set(b->operand[0].ndim?1u<<b->call->attr.along.dim:0);}
OXI_GRADIENT_RULE(softmax){bool done;
ox_status status=oxi_softmax_back(b,OXI_OP_softmax_back,&done);
if(done||status!=OX_OK)return status;
ox_tensor*y=oxi_wide(b->out[0]),*weighted=ox_mul(oxi_wide(b->g[0]),y);
return oxi_gives(b,0,ox_sub(weighted,ox_mul(y,ox_sum(weighted,oxi_along_dims(b),true))));}
OXI_GRADIENT_RULE(log_softmax){bool done;
ox_status status=oxi_softmax_back(b,OXI_OP_log_softmax_back,&done);
if(done||status!=OX_OK)return status;
ox_tensor*y=oxi_wide(b->out[0]),*g=oxi_wide(b->g[0]);return oxi_gives(b,0,ox_sub(g,ox_mul(ox_exp(y),ox_sum(g,oxi_along_dims(b),true))));}
typedef struct oxi_normal_row{ox_tensor*y,*scale;ox_shape dims;bool centered;}oxi_normal_row;
static oxi_normal_row oxi_normal_row_of(ox_tensor*x,ox_shape dims,double eps,bool centered){oxi_normal_row row;
ox_tensor*apart=centered?ox_sub(x,ox_mean(x,dims,true)):x;row.scale=ox_rsqrt(ox_add(ox_mean(ox_square(apart),dims,true),ox_number(eps)));
row.y=ox_mul(apart,row.scale);row.dims=dims;row.centered=centered;return row;}
static ox_tensor*oxi_normal_row_back(const oxi_normal_row*row,ox_tensor*g){
ox_tensor*along=ox_mul(row->y,ox_mean(ox_mul(g,row->y),row->dims,true));
ox_tensor*rest=row->centered?ox_sub(g,ox_mean(g,row->dims,true)):g;return ox_mul(ox_sub(rest,along),row->scale);}
static ox_status oxi_norm_rows_back(oxi_backward*b,bool centered){const oxi_call*call=b->call;bool done;
ox_status status=oxi_norm_back(b,centered?OXI_OP_layer_norm_back:OXI_OP_rms_norm_back,&done);
if(done||status!=OX_OK)return status;
ox_tensor*g=oxi_wide(b->g[0]);if(b->wants[0]||b->wants[1]){ox_tensor*x=oxi_wide(call->in[0]);
ox_shape dims=x?oxi_last_dims(x,call->attr.norm.last_dims):OX_SCALAR_SHAPE;
oxi_normal_row row=oxi_normal_row_of(x,dims,call->attr.norm.eps,centered);if(b->wants[0]){
ox_tensor*own=call->in[1]?ox_mul(g,oxi_wide(call->in[1])):g;status=oxi_gives(b,0,oxi_normal_row_back(&row,own));}
if(status==OX_OK&&b->wants[1])status=oxi_gives(b,1,ox_mul(g,row.y));}
if(status==OX_OK&&call->in_count>2&&b->wants[2])status=oxi_gives(b,2,g);
return status;}
OXI_GRADIENT_RULE(layer_norm){return oxi_norm_rows_back(b,true);}
OXI_GRADIENT_RULE(rms_norm){return oxi_norm_rows_back(b,false);}
OXI_GRADIENT_RULE(group_norm){const oxi_call*call=b->call;const oxi_outline*outline=&b->operand[0];
oxi_attr_group_norm_back told={call->attr.groups.groups,call->attr.groups.eps,true};bool done;
ox_status status=oxi_channels_back_by_row(b,&told,1,NULL,NULL,&done);
if(done||status!=OX_OK)return status;
ox_tensor*g=oxi_wide(b->g[0]);int64_t count=oxi_outline_numel(outline);if(count>0&&(b->wants[0]||b->wants[1])){
int64_t rows=outline->shape[0]*call->attr.groups.groups;ox_shape grouped=OX_SHAPE(rows,count/rows),shape=oxi_outline_shape(outline);
ox_tensor*x=ox_reshape(oxi_wide(call->in[0]),grouped);oxi_normal_row row=oxi_normal_row_of(x,OX_DIMS(1),call->attr.groups.eps,true);
if(b->wants[0]){ox_tensor*own=g;
if(g&&call->in[1])own=ox_mul(g,oxi_by_channel(oxi_wide(call->in[1]),g));
own=oxi_normal_row_back(&row,ox_reshape(own,grouped));status=oxi_gives(b,0,ox_reshape(own,shape));}
if(status==OX_OK&&b->wants[1])
status=oxi_gives(b,1,oxi_summed_by_channel(ox_mul(g,ox_reshape(row.y,shape))));}
if(status==OX_OK&&b->wants[2])status=oxi_gives(b,2,oxi_summed_by_channel(g));
return status;}
static ox_tensor*oxi_beside_channels(ox_tensor*numbers,const ox_tensor*t){return numbers&&t?oxi_by_channel(numbers,t):NULL;}
OXI_GRADIENT_RULE(batch_norm){const oxi_call*call=b->call;const oxi_outline*outline=&b->operand[0];
bool training=call->attr.batch_norm.training,done;
oxi_attr_group_norm_back told={0,call->attr.batch_norm.eps,training};
ox_status status=oxi_channels_back_by_row(b,&told,3,call->in[1],call->in[2],&done);
if(done||status!=OX_OK)return status;
ox_tensor*g=oxi_wide(b->g[0]);if(!g)return ox_error();
if(oxi_outline_numel(outline)==0)return status;
ox_tensor*total=training||b->wants[4]?oxi_summed_by_channel(g):NULL;ox_tensor*apart=NULL,*along=NULL;
ox_tensor*mean=oxi_wide(call->in[1]),*variance=oxi_wide(call->in[2]);if(training&&call->in[0]&&ox_is_grad_enabled()){
ox_shape dims=oxi_dims_of_set(((1u<<outline->ndim)-1)&~2u);mean=ox_mean(oxi_wide(call->in[0]),dims,false);
variance=ox_var(oxi_wide(call->in[0]),dims,0,false);}
ox_tensor*deviation=NULL;if(status==OX_OK&&(b->wants[0]||b->wants[3]))
deviation=ox_rsqrt(ox_add_number(variance,call->attr.batch_norm.eps));
if(status==OX_OK&&((training&&b->wants[0])||b->wants[3])){apart=ox_sub(oxi_wide(call->in[0]),oxi_beside_channels(mean,g));
along=ox_mul(oxi_summed_by_channel(ox_mul(g,apart)),deviation);}
if(status==OX_OK&&b->wants[0]){ox_tensor*scale=call->in[3]?ox_mul(deviation,oxi_wide(call->in[3])):deviation,*own=NULL;
double each=(double)outline->shape[1]/(double)oxi_outline_numel(outline);
if(!training)own=ox_mul(g,oxi_beside_channels(scale,g));
else{ox_tensor*less=ox_mul_number(ox_mul(total,scale),-each);
ox_tensor*slope=ox_mul_number(ox_mul(ox_mul(along,scale),deviation),-each);
own=ox_addcmul(oxi_beside_channels(less,g),apart,oxi_beside_channels(slope,g),1);own=ox_addcmul(own,g,oxi_beside_channels(scale,g),1);}
status=oxi_gives(b,0,own);}
if(status==OX_OK&&b->wants[3])status=oxi_gives(b,3,along);
if(status==OX_OK&&b->wants[4])status=oxi_gives(b,4,total);
return status;}
/* >>autograd/rules/index.c */
static ox_tensor*oxi_filled_up(ox_tensor*t,const oxi_outline*outline){for(int d=0;t&&d<outline->ndim;d++)
t=oxi_between_zeros(t,d,0,outline->shape[d]-t->shape[d]);
return t;}
OXI_GRADIENT_RULE(gather){ox_tensor*g=b->g[0];ox_tensor*zeros=oxi_zeros_for(b,0,g);
return oxi_gives(b,0,ox_scatter_add(zeros,b->call->attr.along.dim,b->call->in[1],g));}
static ox_tensor*oxi_scattered_last(const oxi_backward*b,ox_tensor*index){int dim=b->call->attr.along.dim;if(!index)return NULL;
ox_tensor*own=ox_reshape(oxi_steps_beside(index,0,ox_numel(index),1),ox_shape_of(index));
ox_tensor*none=own?oxi_constant_beside(own,oxi_outline_shape(&b->operand[0]),-1):NULL;
return ox_eq(ox_gather(ox_scatter(none,dim,index,own),dim,index),own);}
OXI_GRADIENT_RULE(scatter){int dim=b->call->attr.along.dim;ox_tensor*g=b->g[0],*index=b->call->in[1];ox_status status=OX_OK;
if(b->wants[0]){ox_tensor*zeros=index?oxi_thin_zeros(g,ox_shape_of(index)):NULL;
status=oxi_gives(b,0,ox_scatter(g,dim,index,zeros));}
if(status==OX_OK&&b->wants[2]){ox_tensor*own=ox_where(oxi_scattered_last(b,index),ox_gather(g,dim,index),ox_number(0));
status=oxi_gives(b,2,oxi_filled_up(own,&b->operand[2]));}
return status;}
OXI_GRADIENT_RULE(scatter_add){ox_status status=b->wants[0]?oxi_gives(b,0,b->g[0]):OX_OK;if(status!=OX_OK||!b->wants[2])return status;
ox_tensor*own=ox_gather(b->g[0],b->call->attr.along.dim,b->call->in[1]);return oxi_gives(b,2,oxi_filled_up(own,&b->operand[2]));}
static ox_tensor*oxi_used_sources(ox_tensor*source,const ox_tensor*index){for(int d=0;source&&index&&d<index->ndim;d++)
if(source->shape[d]!=index->shape[d])source=ox_narrow(source,d,0,index->shape[d]);
return index?source:NULL;}
static ox_tensor*oxi_conjugate(ox_tensor*t){return t&&t->dtype==OX_C64?ox_conj(t):t;}
OXI_GRADIENT_RULE(scatter_prod){int dim=b->call->attr.along.dim;ox_tensor*index=b->call->in[1],*g=oxi_wide(b->g[0]);
ox_tensor*x=oxi_conjugate(oxi_wide(b->call->in[0]));ox_tensor*source=oxi_conjugate(oxi_wide(oxi_used_sources(b->call->in[2],index)));
ox_status status=OX_OK;if(b->wants[0]){ox_tensor*ones=oxi_constant_beside(source,oxi_outline_shape(&b->operand[0]),1);
ox_tensor*others=ox_scatter_reduce(ones,dim,index,source,OX_REDUCTION_PROD,true);status=oxi_gives(b,0,ox_mul(g,others));}
if(status!=OX_OK||!b->wants[2])return status;
ox_tensor*y=oxi_conjugate(oxi_wide(b->out[0])),*zero=ox_eq(source,ox_number(0));ox_tensor*counts=
ox_scatter_add(oxi_zeros_for(b,0,source),dim,index,oxi_as_dtype_of(zero,source));
ox_tensor*only=ox_logical_and(zero,ox_eq(ox_gather(counts,dim,index),ox_number(1)));
ox_tensor*rest=oxi_as_dtype_of(ox_where(only,ox_number(1),source),source);
ox_tensor*without=ox_scatter_reduce(x,dim,index,rest,OX_REDUCTION_PROD,true);
ox_tensor*quotient=ox_div(ox_gather(ox_mul(g,y),dim,index),ox_where(zero,ox_number(1),source));
ox_tensor*own=ox_where(only,ox_gather(ox_mul(g,without),dim,index),quotient);return oxi_gives(b,2,oxi_filled_up(own,&b->operand[2]));}
OXI_GRADIENT_RULE(scatter_extreme){int dim=b->call->attr.along.dim;ox_tensor*index=b->call->in[1],*y=b->out[0],*g=oxi_wide(b->g[0]);
ox_tensor*source=oxi_used_sources(b->call->in[2],index);
ox_tensor*own=ox_eq(b->call->in[0],y),*theirs=ox_eq(source,ox_gather(y,dim,index));
ox_tensor*count=ox_scatter_add(oxi_as_dtype_of(own,g),dim,index,oxi_as_dtype_of(theirs,g));ox_tensor*share=ox_div(g,count);
ox_status status=b->wants[0]?oxi_gives(b,0,ox_where(own,share,ox_number(0))):OX_OK;if(status!=OX_OK||!b->wants[2])return status;
ox_tensor*part=ox_where(theirs,ox_gather(share,dim,index),ox_number(0));return oxi_gives(b,2,oxi_filled_up(part,&b->operand[2]));}
OXI_GRADIENT_RULE(index_select){return oxi_gives(b,0,oxi_added_back(b,b->call->attr.along.dim,b->call->in[1],b->g[0]));}
OXI_GRADIENT_RULE(index_add){const oxi_attr_index_add*told=&b->call->attr.index_add;
ox_status status=b->wants[0]?oxi_gives(b,0,b->g[0]):OX_OK;if(status!=OX_OK||!b->wants[2])return status;
ox_tensor*own=ox_index_select(b->g[0],told->dim,b->call->in[1]);return oxi_gives(b,2,told->alpha==1?own:ox_mul_number(own,told->alpha));}
OXI_GRADIENT_RULE(masked_select){ox_tensor*places=ox_flatten(ox_nonzero(ox_flatten(b->call->in[1],0,-1)),0,-1),*g=b->g[0];
ox_tensor*flat=oxi_constant_beside(g,OX_SHAPE(oxi_outline_numel(&b->operand[0])),0);flat=ox_index_add(flat,0,places,g,1);
return oxi_gives(b,0,ox_reshape(flat,oxi_outline_shape(&b->operand[0])));}
OXI_GRADIENT_RULE(embedding){ox_tensor*ids=ox_flatten(b->call->in[1],0,-1),*g=b->g[0];if(!ids||!g)return ox_error();
ox_tensor*rows=ox_reshape(g,OX_SHAPE(ox_numel(ids),b->operand[0].shape[1]));ox_tensor*sum=oxi_sum_so_far(b,0);
if(sum&&rows&&sum->dtype==rows->dtype)
return ox_index_add_(sum,0,ids,rows,1)?OX_OK:ox_error();
return oxi_gives(b,0,oxi_added_back(b,0,ids,rows));}
OXI_GRADIENT_RULE(triangle){int64_t diagonal=b->call->attr.diagonal.diagonal;bool upper=b->call->op==OXI_OP_triu;
return oxi_gives(b,0,upper?ox_triu(b->g[0],diagonal):ox_tril(b->g[0],diagonal));}
OXI_GRADIENT_RULE(cat){int dim=b->call->attr.along.dim;int64_t start=0;for(int i=0;i<b->call->in_count;i++){
int64_t length=b->operand[i].shape[dim];ox_status status=b->wants[i]?oxi_gives(b,i,ox_narrow(b->g[0],dim,start,length)):OX_OK;
if(status!=OX_OK)return status;
start+=length;}
return OX_OK;}
OXI_GRADIENT_RULE(roll){oxi_attrs attr=b->call->attr;for(int i=0;i<attr.roll.shifts.ndim;i++){
int64_t size=b->operand[0].ndim?b->operand[0].shape[attr.roll.dims.dim[i]]:1;if(size>0)
attr.roll.shifts.dim[i]=-(attr.roll.shifts.dim[i]%size);}
return oxi_gives(b,0,oxi_apply_1(OXI_OP_roll,&attr,b->g[0]));}
/* >>autograd/rules/views.c */
OXI_GRADIENT_RULE(same){return oxi_gives(b,0,b->g[0]);}
OXI_GRADIENT_RULE(permute){const oxi_order*order=&b->call->attr.order.dims;ox_shape back=OX_SCALAR_SHAPE;
if(order->count==0)return oxi_gives(b,0,b->g[0]);
back.ndim=order->count;for(int i=0;i<order->count;i++)back.dim[order->dim[i]]=i;
return oxi_gives(b,0,ox_permute(b->g[0],back));}
OXI_GRADIENT_RULE(view){return oxi_gives(b,0,ox_reshape(b->g[0],oxi_outline_shape(&b->operand[0])));}
static ox_status oxi_added_in_view(const oxi_backward*b,bool*done){ox_tensor*sum=oxi_sum_so_far(b,0),*part;
*done=sum&&b->g[0]&&sum->dtype==b->g[0]->dtype;
if(!*done)return OX_OK;
part=oxi_apply_1(b->call->op,&b->call->attr,sum);return part&&ox_add_(part,b->g[0])?OX_OK:ox_error();}
OXI_GRADIENT_RULE(slice){bool done;
ox_status status=oxi_added_in_view(b,&done);
if(done)return status;
const oxi_attr_slice*told=&b->call->attr.slice;int64_t size=b->operand[0].shape[told->dim],first=told->start;ox_tensor*g=b->g[0];
if(told->length>1&&told->step!=1&&told->step!=-1){ox_tensor*places=oxi_steps_beside(g,told->start,told->length,told->step);
return oxi_gives(b,0,oxi_added_back(b,told->dim,places,g));}
if(told->length>1&&told->step==-1){first=told->start-(told->length-1);
g=oxi_backwards(g,told->dim);}
if(told->length==0)first=0;
return oxi_gives(b,0,oxi_between_zeros(g,told->dim,first,size-first-told->length));}
OXI_GRADIENT_RULE(select){bool done;
ox_status status=oxi_added_in_view(b,&done);
if(done)return status;
const oxi_attr_select*told=&b->call->attr.select;int64_t behind=b->operand[0].shape[told->dim]-told->index-1;
ox_tensor*g=ox_unsqueeze(b->g[0],told->dim);return oxi_gives(b,0,oxi_between_zeros(g,told->dim,told->index,behind));}
OXI_GRADIENT_RULE(flip){ox_tensor*g=b->g[0];for(int d=0;d<b->operand[0].ndim;d++)
if(b->call->attr.dims.dims>>d&1)g=oxi_backwards(g,d);
return oxi_gives(b,0,g);}
OXI_GRADIENT_RULE(diagonal){const oxi_attr_between*told=&b->call->attr.between;const oxi_outline*x=&b->operand[0];ox_tensor*g=b->g[0];
ox_shape shape=OX_SCALAR_SHAPE,back=OX_SCALAR_SHAPE;if(!g)return ox_error();
int64_t rows=x->shape[told->first],columns=x->shape[told->second],offset=told->offset;
int64_t length=g->shape[g->ndim-1],start=offset>=0?offset:-offset*columns;
for(int d=0;d<g->ndim-1;d++)shape.dim[shape.ndim++]=g->shape[d];
shape.dim[shape.ndim++]=rows*columns;ox_tensor*flat=oxi_constant_beside(g,shape,0);if(length>0)
flat=ox_index_add(flat,g->ndim-1,oxi_steps_beside(g,start,length,columns+1),g,1);
shape.dim[shape.ndim-1]=rows;shape.dim[shape.ndim++]=columns;back.ndim=x->ndim;for(int d=0,lead=0;d<x->ndim;d++)
back.dim[d]=d==told->first?x->ndim-2:d==told->second?x->ndim-1:lead++;
return oxi_gives(b,0,ox_permute(ox_view(flat,shape),back));}
OXI_GRADIENT_RULE(unfold){const oxi_attr_windows*told=&b->call->attr.windows;
ox_tensor*g=b->g[0];int dim=told->dim,ndim=b->operand[0].ndim;
if(ndim==0)return oxi_gives(b,0,ox_reshape(told->size?g:ox_sum(g,OX_ALL_DIMS,false),OX_SCALAR_SHAPE));
if(!g)return ox_error();
int64_t windows=g->shape[dim];
ox_shape shape=oxi_outline_shape(&b->operand[0]);shape.dim[dim]=windows*told->size;
ox_tensor*first=ox_unsqueeze(oxi_steps_beside(g,0,windows,told->step),1);
ox_tensor*places=ox_flatten(ox_add(first,oxi_steps_beside(g,0,told->size,1)),0,-1);
return oxi_gives(b,0,oxi_added_back(b,dim,places,ox_reshape(ox_movedim(g,-1,dim+1),shape)));}
static ox_tensor*oxi_places_by_stride(const ox_tensor*beside,ox_shape shape,const int64_t*stride,int64_t first){ox_tensor*places=NULL;
for(int d=0;d<shape.ndim;d++){ox_shape line=shape;
for(int e=0;e<shape.ndim;e++)line.dim[e]=e==d?shape.dim[d]:1;
ox_tensor*steps=ox_view(oxi_steps_beside(beside,d?0:first,shape.dim[d],stride[d]),line);places=d?ox_add(places,steps):steps;}
if(shape.ndim==0)return oxi_steps_beside(beside,first,1,1);
return ox_flatten(places,0,-1);}
static void oxi_reach_of(ox_shape shape,const int64_t*stride,int64_t offset,int64_t*least,int64_t*most){for(int d=0;d<shape.ndim;d++){
int64_t far=(shape.dim[d]-1)*stride[d];*(far<0?least:most)+=far;}
*least+=offset;*most+=offset;}
static bool oxi_may_overlap(const ox_tensor*x){for(int d=0;d<x->ndim;d++){int64_t step=x->stride[d]<0?-x->stride[d]:x->stride[d],reach=0;
for(int e=0;e<x->ndim;e++){int64_t other=x->stride[e]<0?-x->stride[e]:x->stride[e];
if(e!=d&&(other<step||(other==step&&e>d)))reach+=(x->shape[e]-1)*other;}
if(x->shape[d]>1&&step<=reach)return true;
if(x->shape[d]>1&&step==0)return true;}
return false;}
OXI_GRADIENT_RULE(as_strided){const oxi_attr_strided*told=&b->call->attr.strided;const ox_tensor*x=b->call->in[0];ox_tensor*g=b->g[0];
int64_t least[2]={0,0},most[2]={0,0};if(!x||!g)return ox_error();
if(ox_numel(x)==0||ox_numel(g)==0)return OX_OK;
ox_shape shape=ox_shape_of(x);oxi_reach_of(shape,x->stride,x->offset,&least[0],&most[0]);
oxi_reach_of(told->shape,told->strides.dim,told->offset,&least[1],&most[1]);int64_t start=least[0]<least[1]?least[0]:least[1];
int64_t end=most[0]>most[1]?most[0]:most[1];ox_tensor*memory=oxi_constant_beside(g,OX_SHAPE(end-start+1),0);
ox_tensor*to=oxi_places_by_stride(g,told->shape,told->strides.dim,told->offset-start);
ox_tensor*from=oxi_places_by_stride(g,shape,x->stride,x->offset-start);memory=ox_index_add(memory,0,to,ox_flatten(g,0,-1),1);
if(oxi_may_overlap(x)){ox_tensor*ones=oxi_thin_zeros(g,OX_SHAPE(ox_numel(x)));
ones=ox_add_number(ones,1);ox_tensor*count=ox_index_add(oxi_constant_beside(g,OX_SHAPE(end-start+1),0),0,from,ones,1);
memory=ox_div(memory,ox_maximum(count,ox_number(1)));}
return oxi_gives(b,0,ox_reshape(ox_index_select(memory,0,from),shape));}
static ox_tensor*oxi_pairs_as_complex(ox_tensor*pairs){if(!pairs)return NULL;
bool fits=ox_is_contiguous(pairs)&&pairs->offset%2==0;return ox_view_as_complex(fits?pairs:ox_clone(pairs));}
OXI_GRADIENT_RULE(view_as_real){int64_t part=b->call->attr.part.part;ox_tensor*g=oxi_wide(b->g[0]),*parts[2];
if(!g||part==0)return oxi_gives(b,0,oxi_pairs_as_complex(g));
ox_tensor*zeros=oxi_thin_zeros(g,ox_shape_of(g));parts[0]=part==1?g:zeros;parts[1]=part==1?zeros:g;
return oxi_gives(b,0,zeros?oxi_pairs_as_complex(ox_stack(parts,2,-1)):NULL);}
OXI_GRADIENT_RULE(view_as_complex){return oxi_gives(b,0,ox_view_as_real(b->g[0]));}
static ox_tensor*oxi_and_also(ox_tensor*t,ox_tensor*more){return more?ox_logical_and(t,more):t;}
OXI_GRADIENT_RULE(clamp_tensor){ox_tensor*x=b->call->in[0],*low=b->call->in[1],*high=b->call->in[2],*g=b->g[0];
ox_tensor*none=ox_number(0),*passes=NULL;ox_status status=OX_OK;if(b->wants[0]){if(low)passes=ox_ge(x,low);
if(high)passes=oxi_and_also(ox_le(x,high),passes);
status=oxi_gives(b,0,ox_where(passes,g,none));}
if(status==OX_OK&&b->wants[1]){passes=oxi_and_also(ox_lt(x,low),high?ox_lt(low,high):NULL);
status=oxi_gives(b,1,ox_where(passes,g,none));}
if(status==OX_OK&&b->wants[2]){passes=ox_gt(x,high);
if(low)passes=ox_logical_or(passes,ox_lt(high,low));
status=oxi_gives(b,2,ox_where(passes,g,none));}
return status;}
/* >>autograd/rules/products.c */
static ox_tensor*oxi_transposed_factor(ox_tensor*t){return t?oxi_conjugate(ox_transpose(t,-2,-1)):NULL;}
static ox_tensor*oxi_as_matrix(ox_tensor*t,int dim){if(!t||t->ndim>1)return t;
return ox_unsqueeze(oxi_is_block(t->dtype)?oxi_wide(t):t,dim);}
static ox_tensor*oxi_as_rows(ox_tensor*t){if(!t||t->ndim==2)return t;
int64_t columns=t->shape[t->ndim-1],rows=1;for(int d=0;d<t->ndim-1;d++)rows*=t->shape[d];
return ox_reshape(t,OX_SHAPE(rows,columns));}
static ox_tensor*oxi_times_blocks(ox_tensor*g,ox_tensor*w){const int64_t most=(int64_t)1<<22;ox_tensor*sum=NULL;if(!g||!w)return NULL;
if(w->ndim!=2)return ox_matmul(oxi_wide(g),oxi_as_dtype_of(oxi_wide(w),oxi_wide(g)));
int64_t rows=w->shape[0],step=w->shape[1]?most/w->shape[1]+1:1;for(int64_t at=0;at<rows||!sum;at+=step){
int64_t count=rows-at<step?rows-at:step;ox_scope scope=ox_scope_begin();ox_tensor*part=oxi_wide(ox_narrow(g,-1,at,count));
part=ox_matmul(part,oxi_as_dtype_of(oxi_wide(ox_narrow(w,0,at,count)),part));sum=ox_keep(sum?ox_add(sum,part):part);ox_scope_end(&scope);
if(!sum)return NULL;}
return sum;}
static ox_tensor*oxi_matmul_left_back(ox_tensor*g,ox_tensor*other){if(other&&oxi_is_block(other->dtype))return oxi_times_blocks(g,other);
return ox_matmul(oxi_as_dtype_of(g,other),other);}
static ox_tensor*oxi_matmul_right_back(ox_tensor*g,ox_tensor*other,bool folds){if(other&&oxi_is_block(other->dtype))
return ox_transpose(oxi_times_blocks(ox_transpose(g,-2,-1),other),-2,-1);
if(folds){other=oxi_as_rows(other);
g=oxi_as_rows(g);}
other=oxi_transposed_factor(other);return ox_matmul(other,oxi_as_dtype_of(g,other));}
OXI_GRADIENT_RULE(matmul){const oxi_outline*a=&b->operand[0],*right=&b->operand[1];ox_tensor*g=b->g[0];ox_status status=OX_OK;
if(right->ndim==1)g=ox_unsqueeze(g,-1);
if(a->ndim==1)g=ox_unsqueeze(g,-2);
if(b->wants[0]){ox_tensor*own=oxi_matmul_left_back(g,oxi_transposed_factor(oxi_as_matrix(b->call->in[1],1)));
status=oxi_gives(b,0,a->ndim==1?ox_squeeze(own,-2):own);}
if(status==OX_OK&&b->wants[1]){ox_tensor*other=oxi_as_matrix(b->call->in[0],0);
ox_tensor*own=oxi_matmul_right_back(g,other,right->ndim==2&&a->ndim>2);status=oxi_gives(b,1,right->ndim==1?ox_squeeze(own,-1):own);}
return status;}
static ox_tensor*oxi_product_operand(ox_tensor*t){bool eight_bits=t&&(t->dtype==OX_F8_E4M3||t->dtype==OX_F8_E5M2);
return eight_bits?ox_cast(t,OX_F32):t;}
static ox_tensor*oxi_before_activation(const oxi_backward*b){static const struct{oxi_op op;bool reads_result;}activations[]={
{OXI_OP_copy,true},{OXI_OP_relu,true},{OXI_OP_gelu,false},{OXI_OP_gelu_tanh,false},
{OXI_OP_silu,false},{OXI_OP_sigmoid,true},{OXI_OP_tanh,true}};
const oxi_call*call=b->call;int activation=call->attr.activation.activation;ox_tensor*g=b->g[0],*x=NULL;
if(activation==OX_ACTIVATION_NONE)return g;
if(!activations[activation].reads_result){x=ox_linear(call->in[0],call->in[1],call->in[2]);
if(!x)return NULL;}
return oxi_as_dtype_of(oxi_formula_run(activations[activation].op,NULL,x,b->out[0],g),g);}
OXI_GRADIENT_RULE(linear){const oxi_call*call=b->call;ox_tensor*g=oxi_product_operand(oxi_before_activation(b));
ox_status status=g?OX_OK:ox_error();if(status==OX_OK&&b->wants[0]){ox_tensor*w=call->in[1];
bool block=w&&oxi_is_block(w->dtype);ox_tensor*own=block?oxi_times_blocks(g,w):ox_linear(g,w?ox_t(oxi_conjugate(w)):NULL,NULL);
status=oxi_gives(b,0,own);}
if(status==OX_OK&&b->wants[1]){ox_tensor*x=oxi_as_rows(oxi_as_matrix(oxi_conjugate(oxi_product_operand(call->in[0])),0));
ox_tensor*rows=oxi_as_dtype_of(oxi_as_rows(oxi_as_matrix(g,0)),x);status=oxi_gives(b,1,ox_matmul(ox_t(rows),x));}
if(status==OX_OK&&call->in_count>2&&b->wants[2])status=oxi_gives(b,2,g);
return status;}
OXI_GRADIENT_RULE(addmm){const oxi_attr_addmm*told=&b->call->attr.addmm;ox_tensor*g=b->g[0];ox_status status=OX_OK;
if(b->wants[0]&&told->beta!=0)
status=oxi_gives(b,0,told->beta==1?g:ox_mul_number(g,told->beta));
ox_tensor*scaled=told->alpha==1?g:ox_mul_number(g,told->alpha);if(status==OX_OK&&b->wants[1])
status=oxi_gives(b,1,oxi_matmul_left_back(scaled,oxi_transposed_factor(b->call->in[2])));
if(status==OX_OK&&b->wants[2])
status=oxi_gives(b,2,oxi_matmul_right_back(scaled,b->call->in[1],false));
return status;}
static ox_tensor*oxi_pairs_of_expert(const int64_t*ids,int64_t pairs,int64_t expert,int64_t*list,int64_t each,const ox_tensor*beside){
int64_t count=0;for(int64_t i=0;i<pairs;i++)
if(ids[i]==expert)list[count++]=i/each;
ox_tensor*made=oxi_copied(list,OX_SHAPE(count),OX_I64);return ox_to(made,oxi_working_device(ox_device_of(beside)));}
static ox_tensor*oxi_expert_products(const oxi_backward*b,ox_tensor*g,ox_tensor*x,const int64_t*ids,int64_t*list,ox_tensor**products){
int64_t pairs=ox_numel(b->call->in[2]),experts=b->operand[1].shape[0];int64_t each=b->operand[0].ndim==2?b->operand[2].shape[1]:1;
for(int64_t e=0;e<experts;e++){ox_tensor*own=oxi_pairs_of_expert(ids,pairs,e,list,1,g);
ox_tensor*rows=oxi_pairs_of_expert(ids,pairs,e,list,each,g);ox_tensor*left=ox_index_select(g,0,own),*right=ox_index_select(x,0,rows);
products[e]=left?ox_matmul(ox_t(left),right):NULL;if(!products[e])return NULL;}
return ox_stack(products,(int)experts,0);}
static ox_tensor*oxi_expert_weights_back(const oxi_backward*b,ox_tensor*g){ox_tensor*experts=b->call->in[2],*result=NULL;
int64_t pairs=ox_numel(experts),count=b->operand[1].shape[0];if(count>INT32_MAX)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"linear_experts: %lld experts",(long long)count);
size_t ids_bytes=(size_t)pairs*2*sizeof(int64_t),list_bytes=(size_t)count*sizeof(ox_tensor*);
int64_t*ids=(int64_t*)oxi_alloc(ids_bytes?ids_bytes:1);ox_tensor**products=(ox_tensor**)oxi_alloc(list_bytes?list_bytes:1);
ox_tensor*x=oxi_as_rows(oxi_product_operand(b->call->in[0]));if(ids&&products&&x&&ox_to_ints(experts,ids,pairs)==OX_OK)
result=oxi_expert_products(b,oxi_as_dtype_of(oxi_as_rows(g),x),x,ids,ids+pairs,products);
if(ids)oxi_free(ids,ids_bytes?ids_bytes:1);
if(products)oxi_free(products,list_bytes?list_bytes:1);
return result;}
OXI_GRADIENT_RULE(linear_experts){const oxi_call*call=b->call;ox_tensor*g=oxi_product_operand(b->g[0]),*experts=call->in[2];
ox_status status=g?OX_OK:ox_error();if(status==OX_OK&&b->wants[0]){ox_tensor*w=call->in[1];
if(w&&oxi_is_block(w->dtype))w=oxi_wide(w);
ox_tensor*own=w?ox_linear_experts(g,ox_transpose(w,1,2),experts,NULL):NULL;
status=oxi_gives(b,0,b->operand[0].ndim==2?ox_sum(own,OX_DIMS(1),false):own);}
if(status==OX_OK&&b->wants[1]&&b->operand[1].shape[0]>0)
status=oxi_gives(b,1,oxi_expert_weights_back(b,g));
if(status==OX_OK&&call->in_count>3&&b->wants[3]){ox_tensor*zeros=oxi_zeros_for(b,3,g);
status=oxi_gives(b,3,ox_index_add(zeros,0,ox_flatten(experts,0,-1),oxi_as_rows(g),1));}
return status;}
/* >>autograd/rules/conv.c */
static ox_tensor*oxi_conv_again(const oxi_backward*b,oxi_op op,ox_tensor*first,ox_tensor*second,
const int64_t*size,const oxi_outline*operand){oxi_attrs attr=b->call->attr;
if(!first||!second)return NULL;
if(first->dtype!=operand->dtype&&operand->dtype==OX_F32)first=oxi_wide(first);
ox_tensor*in[3]={first,second,NULL};if(!first)return NULL;
for(int d=0;d<3;d++)attr.conv.size.n[d]=size&&d<first->ndim-2?size[2 +d]:0;
return oxi_apply_list(op,&attr,in,op==OXI_OP_conv_back_weight?2:3,NULL);}
static ox_tensor*oxi_conv_onto(const oxi_backward*b,ox_tensor*x,ox_tensor*w){const oxi_outline*y=&b->operand[0];
const oxi_attr_conv*told=&b->call->attr.conv;int64_t size[OX_MAX_DIMS];if(!x||!w)return NULL;
for(int d=2;d<x->ndim;d++){int64_t reach=told->dilation.n[d-2]*(w->shape[d]-1)+1;
int64_t end=(y->shape[d]-1)*told->stride.n[d-2]+reach;size[d]=end-x->shape[d]-2*told->padding.n[d-2];if(size[d]<0)size[d]=0;}
ox_tensor*made=oxi_conv_again(b,OXI_OP_conv,x,w,size,y);for(int d=2;made&&d<y->ndim;d++)
if(made->shape[d]>y->shape[d])made=ox_narrow(made,d,0,y->shape[d]);
return made;}
OXI_GRADIENT_RULE(conv){ox_tensor*g=oxi_product_operand(b->g[0]);ox_status status=g?OX_OK:ox_error();
bool empty=oxi_outline_numel(&b->result[0])==0;if(status==OX_OK&&b->wants[0]&&!empty)
status=oxi_gives(b,0,oxi_conv_again(b,OXI_OP_conv_back_input,g,b->call->in[1],b->operand[0].shape,&b->operand[0]));
if(status==OX_OK&&b->wants[1]&&!empty)
status=oxi_gives(b,1,oxi_conv_again(b,OXI_OP_conv_back_weight,g,b->call->in[0],b->operand[1].shape,&b->operand[1]));
if(status==OX_OK&&b->call->in_count>2&&b->wants[2])
status=oxi_gives(b,2,oxi_summed_by_channel(g));
return status;}
OXI_GRADIENT_RULE(conv_back_input){ox_tensor*g=oxi_product_operand(b->g[0]);ox_status status=g?OX_OK:ox_error();
bool empty=oxi_outline_numel(&b->operand[0])==0||oxi_outline_numel(&b->result[0])==0;if(status==OX_OK&&b->wants[0]&&!empty)
status=oxi_gives(b,0,oxi_conv_onto(b,g,b->call->in[1]));
if(status==OX_OK&&b->wants[1]&&!empty)
status=oxi_gives(b,1,oxi_conv_again(b,OXI_OP_conv_back_weight,b->call->in[0],g,b->operand[1].shape,&b->operand[1]));
if(status==OX_OK&&b->call->in_count>2&&b->wants[2])
status=oxi_gives(b,2,oxi_summed_by_channel(g));
return status;}
OXI_GRADIENT_RULE(conv_back_weight){ox_tensor*g=oxi_product_operand(b->g[0]);ox_status status=g?OX_OK:ox_error();
bool empty=oxi_outline_numel(&b->operand[0])==0||oxi_outline_numel(&b->result[0])==0;if(status==OX_OK&&b->wants[0]&&!empty)
status=oxi_gives(b,0,oxi_conv_onto(b,b->call->in[1],g));
if(status==OX_OK&&b->wants[1]&&!empty)
status=oxi_gives(b,1,oxi_conv_again(b,OXI_OP_conv_back_input,b->call->in[0],g,b->operand[1].shape,&b->operand[1]));
return status;}
static ox_tensor*oxi_image_lines(ox_tensor*t,int64_t dims){return t?ox_flatten(t,t->ndim-(int)dims,-1):NULL;}
OXI_GRADIENT_RULE(max_pool){int64_t dims=b->call->attr.pool.dims;const oxi_outline*x=&b->operand[0];
ox_tensor*g=oxi_wide(b->g[0]),*zeros=g?oxi_zeros_for(b,0,g):NULL;
if(!g||oxi_outline_numel(&b->result[0])==0)return oxi_gives(b,0,zeros);
ox_tensor*lines=oxi_image_lines(b->out[1],dims);
ox_tensor*image=ox_scatter_add_(oxi_image_lines(zeros,dims),-1,lines,oxi_image_lines(g,dims));
return oxi_gives(b,0,ox_reshape(image,oxi_outline_shape(x)));}
OXI_GRADIENT_RULE(avg_pool){oxi_attrs attr=b->call->attr;const oxi_outline*x=&b->operand[0];for(int d=0;d<attr.pool.dims;d++)
attr.pool.size.n[d]=x->shape[x->ndim-(int)attr.pool.dims+d];
return oxi_gives(b,0,oxi_apply_1(OXI_OP_avg_pool_back,&attr,b->g[0]));}
OXI_GRADIENT_RULE(avg_pool_back){oxi_attrs attr=b->call->attr;const oxi_outline*g=&b->operand[0];for(int d=0;d<attr.pool.dims;d++)
attr.pool.size.n[d]=g->shape[g->ndim-(int)attr.pool.dims+d];
if(oxi_outline_numel(g)==0)return OX_OK;
return oxi_gives(b,0,oxi_apply_1(OXI_OP_avg_pool,&attr,b->g[0]));}
/* >>autograd/rules/attention.c */
OXI_GRADIENT_RULE(rope){ox_tensor*in[3];oxi_attrs attr=b->call->attr;if(b->call->in_count>2&&b->wants[2])
return oxi_fail(OX_ERR_UNSUPPORTED,"rope: factors of frequencies have no gradient");
attr.rope.scale=-attr.rope.scale;in[0]=b->g[0];in[1]=b->call->in[1];in[2]=b->call->in[2];
return oxi_gives(b,0,in[0]?oxi_apply_list(OXI_OP_rope,&attr,in,3,NULL):NULL);}
#ifndef OXI_ATTENTION_SCORES
#define OXI_ATTENTION_SCORES ((int64_t)1<<22)
#define OXI_ATTENTION_ROWS 32
#endif
enum{OXI_ATTENTION_Q,OXI_ATTENTION_K,OXI_ATTENTION_V,OXI_ATTENTION_MASK,OXI_ATTENTION_SINKS,OXI_ATTENTION_OPERANDS};
typedef struct oxi_attention_back{oxi_backward*b;ox_tensor*in[OXI_ATTENTION_OPERANDS],*g;ox_tensor*sum[OXI_ATTENTION_OPERANDS];
ox_tensor**rows;int64_t chunks,chunk;int64_t group,queries,keys;bool mask_has_rows;}oxi_attention_back;
typedef struct oxi_attention_chunk{oxi_call call;ox_tensor*in[OXI_ATTENTION_OPERANDS],*g;int64_t first,count,first_key,keys;
}oxi_attention_chunk;static ox_tensor*oxi_heads_as_rows(ox_tensor*t){if(!t||t->ndim<4)return t;
ox_shape shape=ox_shape_of(t);int last=t->ndim-1;shape.dim[last-2]*=shape.dim[last-1];shape.dim[last-1]=shape.dim[last];shape.ndim--;
return ox_reshape(t,shape);}
static ox_tensor*oxi_rows_as_heads(ox_tensor*t,int64_t group,int64_t rows){if(!t||t->ndim<3)return t;
ox_shape shape=ox_shape_of(t);shape.dim[t->ndim-3]*=group;shape.dim[t->ndim-2]=rows;return ox_reshape(t,shape);}
static void oxi_attention_key_range(const oxi_attention_back*a,oxi_attention_chunk*c){
const oxi_attr_attention*told=&a->b->call->attr.attention;int64_t end=a->keys,place=told->query_start+c->first;c->first_key=0;
if(told->causal&&place+c->count<end)end=place+c->count;
if(told->window>0&&place-told->window+1>0)c->first_key=place-told->window+1;
c->keys=end>c->first_key?end-c->first_key:0;}
static ox_tensor*oxi_mask_of_chunk(const oxi_attention_back*a,const oxi_attention_chunk*c){ox_tensor*mask=a->in[OXI_ATTENTION_MASK];
if(mask&&mask->ndim>1&&mask->shape[mask->ndim-2]!=1)
mask=ox_narrow(mask,-2,c->first,c->count);
if(mask&&mask->ndim>0&&mask->shape[mask->ndim-1]!=1)
mask=ox_narrow(mask,-1,c->first_key,c->keys);
return mask;}
static void oxi_attention_chunk_begin(const oxi_attention_back*a,oxi_attention_chunk*c,int64_t first){c->first=first;
c->count=a->queries-first<a->chunk?a->queries-first:a->chunk;oxi_attention_key_range(a,c);c->call=*a->b->call;c->call.in=c->in;
c->call.attr.attention.query_start+=first-c->first_key;c->in[OXI_ATTENTION_Q]=ox_narrow(a->in[OXI_ATTENTION_Q],-2,first,c->count);
c->in[OXI_ATTENTION_K]=ox_narrow(a->in[OXI_ATTENTION_K],-2,c->first_key,c->keys);
c->in[OXI_ATTENTION_V]=ox_narrow(a->in[OXI_ATTENTION_V],-2,c->first_key,c->keys);c->in[OXI_ATTENTION_MASK]=oxi_mask_of_chunk(a,c);
c->in[OXI_ATTENTION_SINKS]=a->in[OXI_ATTENTION_SINKS];c->g=ox_narrow(a->g,-2,first,c->count);}
static ox_tensor*oxi_attention_weights(const oxi_attention_back*a,const oxi_attention_chunk*c,ox_tensor*scores){
ox_tensor*most=ox_amax(scores,OX_DIMS(-1),true),*sinks=c->in[OXI_ATTENTION_SINKS];ox_tensor*blind=ox_eq(most,ox_number(-INFINITY));
scores=ox_where(blind,ox_number(0),scores);if(sinks&&most&&scores){
if(scores->ndim>3)sinks=ox_view(sinks,OX_SHAPE(ox_numel(sinks)/a->group,-1,1,1));
ox_tensor*both[2];both[0]=scores;both[1]=ox_expand(oxi_as_dtype_of(sinks,scores),ox_shape_of(most));
scores=both[1]?ox_cat(both,2,-1):NULL;}
return ox_where(blind,ox_number(0),ox_softmax(scores,-1));}
static void oxi_attention_add(oxi_attention_back*a,int i,ox_tensor*part){ox_tensor*before=a->sum[i];
a->sum[i]=before?ox_add(before,part):part;ox_release(before);}
static ox_tensor*oxi_among_all_keys(const oxi_attention_back*a,const oxi_attention_chunk*c,ox_tensor*part,int dim){
int64_t behind=a->keys-c->first_key-c->keys;return part?oxi_between_zeros(part,part->ndim+dim,c->first_key,behind):NULL;}
static void oxi_attention_mask_back(oxi_attention_back*a,const oxi_attention_chunk*c,ox_tensor*scores){
const oxi_outline*outline=&a->b->operand[OXI_ATTENTION_MASK];ox_shape shape=oxi_outline_shape(outline);
if(shape.ndim>1&&a->mask_has_rows)shape.dim[shape.ndim-2]=c->count;
bool own_keys=shape.ndim>0&&shape.dim[shape.ndim-1]!=1;if(own_keys)shape.dim[shape.ndim-1]=c->keys;
ox_tensor*part=oxi_rows_as_heads(oxi_heads_as_rows(scores),a->group,c->count);part=oxi_summed_to(part,shape);
if(own_keys)part=oxi_among_all_keys(a,c,part,-1);
if(a->mask_has_rows)
a->rows[a->chunks+c->first/a->chunk]=part;
else
oxi_attention_add(a,OXI_ATTENTION_MASK,part);}
static void oxi_attention_sinks_back(oxi_attention_back*a,const oxi_attention_chunk*c,ox_tensor*weights,ox_tensor*along){
ox_tensor*own=ox_neg(ox_mul(ox_narrow(weights,-1,c->keys,1),along));
ox_shape heads=oxi_outline_shape(&a->b->operand[OXI_ATTENTION_SINKS]);own=oxi_rows_as_heads(oxi_heads_as_rows(own),a->group,c->count);
own=ox_sum(own,OX_DIMS(-2,-1),false);oxi_attention_add(a,OXI_ATTENTION_SINKS,ox_reshape(oxi_summed_to(own,heads),heads));}
static void oxi_attention_scores_back(oxi_attention_back*a,const oxi_attention_chunk*c,ox_tensor*scores,ox_tensor*back){
const oxi_attr_attention*told=&c->call.attr.attention;if(told->softcap>0){
ox_tensor*slope=ox_rsub_number(ox_square(ox_div_number(scores,told->softcap)),1);back=ox_mul(back,slope);}
back=oxi_heads_as_rows(ox_mul_number(back,told->scale));if(a->b->wants[OXI_ATTENTION_Q]){
ox_tensor*own=ox_matmul(back,c->in[OXI_ATTENTION_K]);a->rows[c->first/a->chunk]=oxi_rows_as_heads(own,a->group,c->count);}
if(a->b->wants[OXI_ATTENTION_K]&&back){ox_tensor*q=oxi_heads_as_rows(oxi_grouped_heads(c->in[OXI_ATTENTION_Q],a->group));
ox_tensor*own=ox_matmul(ox_transpose(back,-2,-1),q);oxi_attention_add(a,OXI_ATTENTION_K,oxi_among_all_keys(a,c,own,-2));}}
static void oxi_attention_chunk_back(oxi_attention_back*a,oxi_attention_chunk*c){const bool*wants=a->b->wants;
ox_tensor*scores=oxi_attention_scores(&c->call,a->group);ox_tensor*masked=oxi_masked_scores(&c->call,scores,a->group);
ox_tensor*weights=masked?oxi_attention_weights(a,c,masked):NULL;
ox_tensor*seen=c->in[OXI_ATTENTION_SINKS]?ox_narrow(weights,-1,0,c->keys):weights;ox_tensor*rows=oxi_heads_as_rows(seen);
ox_tensor*g=oxi_heads_as_rows(oxi_grouped_heads(c->g,a->group));if(wants[OXI_ATTENTION_V]){
ox_tensor*own=ox_matmul(ox_transpose(rows,-2,-1),g);oxi_attention_add(a,OXI_ATTENTION_V,oxi_among_all_keys(a,c,own,-2));}
if(!wants[0]&&!wants[1]&&!wants[OXI_ATTENTION_MASK]&&!wants[OXI_ATTENTION_SINKS])return;
ox_tensor*back=ox_matmul(g,ox_transpose(c->in[OXI_ATTENTION_V],-2,-1));back=seen?ox_reshape(back,ox_shape_of(seen)):NULL;
ox_tensor*weighted=ox_mul(back,seen),*along=ox_sum(weighted,OX_DIMS(-1),true);
if(wants[OXI_ATTENTION_SINKS])oxi_attention_sinks_back(a,c,weights,along);
back=ox_sub(weighted,ox_mul(seen,along));if(wants[OXI_ATTENTION_MASK]&&back)oxi_attention_mask_back(a,c,back);
if(wants[0]||wants[1])oxi_attention_scores_back(a,c,scores,back);}
static void oxi_attention_blind_rows(oxi_attention_back*a,const oxi_attention_chunk*c){int64_t at=c->first/a->chunk;
if(a->b->wants[OXI_ATTENTION_Q]&&c->in[OXI_ATTENTION_Q])
a->rows[at]=oxi_thin_zeros(a->g,ox_shape_of(c->in[OXI_ATTENTION_Q]));
if(!a->b->wants[OXI_ATTENTION_MASK]||!a->mask_has_rows)return;
ox_shape shape=oxi_outline_shape(&a->b->operand[OXI_ATTENTION_MASK]);shape.dim[shape.ndim-2]=c->count;
a->rows[a->chunks+at]=oxi_thin_zeros(a->g,shape);}
static ox_status oxi_attention_chunk_run(oxi_attention_back*a,int64_t first){oxi_attention_chunk c;ox_status status=OX_OK;
ox_scope scope=ox_scope_begin();oxi_attention_chunk_begin(a,&c,first);if(c.keys>0)
oxi_attention_chunk_back(a,&c);
else
oxi_attention_blind_rows(a,&c);
int64_t at=first/a->chunk;const bool*wants=a->b->wants;for(int i=1;i<OXI_ATTENTION_OPERANDS;i++){ox_keep(a->sum[i]);
bool by_rows=i==OXI_ATTENTION_MASK&&a->mask_has_rows;if(wants[i]&&!by_rows&&!a->sum[i]&&c.keys>0)status=ox_error();}
ox_keep(a->rows[at]);ox_keep(a->rows[a->chunks+at]);if(wants[OXI_ATTENTION_Q]&&!a->rows[at])status=ox_error();
if(wants[OXI_ATTENTION_MASK]&&a->mask_has_rows&&!a->rows[a->chunks+at])status=ox_error();
ox_scope_end(&scope);return status;}
static ox_status oxi_attention_back_begin(oxi_attention_back*a,oxi_backward*b){
const oxi_outline*q=&b->operand[OXI_ATTENTION_Q],*k=&b->operand[OXI_ATTENTION_K],*mask=&b->operand[OXI_ATTENTION_MASK];int n=q->ndim;
int64_t heads=1;memset(a,0,sizeof*a);a->b=b;a->queries=q->shape[n-2];a->keys=k->shape[n-2];a->group=n>2?q->shape[n-3]/k->shape[n-3]:1;
for(int d=0;d<n-2;d++)heads*=q->shape[d];
a->chunk=OXI_ATTENTION_SCORES/(heads*a->keys);if(a->chunk<OXI_ATTENTION_ROWS)a->chunk=OXI_ATTENTION_ROWS;
if(a->chunk>a->queries)a->chunk=a->queries;
a->chunks=(a->queries+a->chunk-1)/a->chunk;a->g=oxi_wide(b->g[0]);for(int i=0;i<OXI_ATTENTION_OPERANDS;i++){ox_tensor*t=b->call->in[i];
a->in[i]=t&&t->dtype!=OX_BOOL&&i<OXI_ATTENTION_SINKS?oxi_as_dtype_of(oxi_wide(t),a->g):t;if(t&&!a->in[i])return ox_error();}
a->mask_has_rows=a->in[OXI_ATTENTION_MASK]&&mask->ndim>1&&mask->shape[mask->ndim-2]!=1;return a->g?OX_OK:ox_error();}
OXI_GRADIENT_RULE(attention){oxi_attention_back a;
if(oxi_outline_numel(&b->operand[OXI_ATTENTION_Q])==0||oxi_outline_numel(&b->result[0])==0||
b->operand[OXI_ATTENTION_K].shape[b->operand[0].ndim -2]==0)
return OX_OK;
bool done;
ox_status status=oxi_attention_back_by_row(b,&done);
if(!done&&status==OX_OK)status=oxi_attention_back_begin(&a,b);
if(done||status!=OX_OK)return status;
size_t bytes=(size_t)a.chunks*2*sizeof*a.rows;a.rows=(ox_tensor**)oxi_alloc(bytes);if(!a.rows)return OX_ERR_NOMEM;
memset(a.rows,0,bytes);for(int64_t first=0;status==OX_OK&&first<a.queries;first+=a.chunk)
status=oxi_attention_chunk_run(&a,first);
for(int i=1;status==OX_OK&&i<OXI_ATTENTION_OPERANDS;i++)
if(b->wants[i])b->grad[i]=a.sum[i];
if(status==OX_OK&&b->wants[OXI_ATTENTION_Q])
status=oxi_gives(b,OXI_ATTENTION_Q,ox_cat(a.rows,(int)a.chunks,-2));
if(status==OX_OK&&b->wants[OXI_ATTENTION_MASK]&&a.mask_has_rows)
status=oxi_gives(b,OXI_ATTENTION_MASK,ox_cat(a.rows+a.chunks,(int)a.chunks,-2));
oxi_free(a.rows,bytes);return status;}
/* >>autograd/rules/special.c */
static ox_tensor*oxi_special_i1_slope(ox_tensor*x,ox_tensor*y,bool scaled){
ox_tensor*zero=ox_eq_number(x,0),*safe=ox_where(zero,ox_number(1),x);ox_tensor*other=ox_div(y,safe);
if(scaled)other=ox_add(other,ox_mul(y,ox_sign(x)));
return ox_where(zero,ox_number(0.5),ox_sub(scaled?ox_i0e(x):ox_i0(x),other));}
static ox_tensor*oxi_special_gamma_density(ox_tensor*a,ox_tensor*x){ox_tensor*power=ox_sub(ox_mul(ox_sub_number(a,1),ox_log(x)),x);
return ox_exp(ox_sub(power,ox_lgamma(a)));}
static ox_tensor*oxi_special_slope(int64_t function,ox_tensor*a,ox_tensor*x,ox_tensor*y){switch(function){
case OXI_SPECIAL_lgamma:return ox_digamma(a);case OXI_SPECIAL_digamma:return ox_polygamma(1,a);
case OXI_SPECIAL_polygamma:return ox_polygamma((int64_t)ox_item(a)+1,x);
case OXI_SPECIAL_erfinv:return ox_mul_number(ox_exp(ox_square(y)),0.88622692545275801365);
case OXI_SPECIAL_erfcx:return ox_sub_number(ox_mul_number(ox_mul(a,y),2),1.12837916709551257390);case OXI_SPECIAL_ndtri:
return ox_mul_number(ox_exp(ox_mul_number(ox_square(y),0.5)),2.50662827463100050242);
case OXI_SPECIAL_log_ndtr:
return ox_rdiv_number(ox_erfcx(ox_mul_number(a,-0.70710678118654752440)),0.79788456080286535588);
case OXI_SPECIAL_i0:return ox_i1(a);case OXI_SPECIAL_i0e:return ox_sub(ox_i1e(a),ox_mul(ox_sign(a),y));
case OXI_SPECIAL_i1:return oxi_special_i1_slope(a,y,false);case OXI_SPECIAL_i1e:return oxi_special_i1_slope(a,y,true);
case OXI_SPECIAL_igamma:return oxi_special_gamma_density(a,x);case OXI_SPECIAL_igammac:return ox_neg(oxi_special_gamma_density(a,x));
default:return NULL;}}
OXI_GRADIENT_RULE(special){static const char*const names[]={
#define OXI_SPECIAL(name,operands,f64) #name,
/* >>special/special.def */
OXI_SPECIAL(lgamma,1,lgamma)
OXI_SPECIAL(digamma,1,digamma)
OXI_SPECIAL(erfinv,1,erfinv)
OXI_SPECIAL(erfcx,1,erfcx)
OXI_SPECIAL(ndtri,1,ndtri)
OXI_SPECIAL(log_ndtr,1,log_ndtr)
OXI_SPECIAL(i0,1,i0)
OXI_SPECIAL(i0e,1,i0e)
OXI_SPECIAL(i1,1,i1)
OXI_SPECIAL(i1e,1,i1e)
OXI_SPECIAL(bessel_j0,1,j0)
OXI_SPECIAL(bessel_j1,1,j1)
OXI_SPECIAL(bessel_y0,1,y0)
OXI_SPECIAL(bessel_y1,1,y1)
OXI_SPECIAL(modified_bessel_k0,1,k0)
OXI_SPECIAL(modified_bessel_k1,1,k1)
OXI_SPECIAL(scaled_modified_bessel_k0,1,k0e)
OXI_SPECIAL(scaled_modified_bessel_k1,1,k1e)
OXI_SPECIAL(spherical_bessel_j0,1,spherical_j0)
OXI_SPECIAL(airy_ai,1,airy_ai)
OXI_SPECIAL(zeta,2,zeta)
OXI_SPECIAL(igamma,2,igamma)
OXI_SPECIAL(igammac,2,igammac)
OXI_SPECIAL(polygamma,2,polygamma)
OXI_SPECIAL(chebyshev_polynomial_t,2,chebyshev_t)
OXI_SPECIAL(chebyshev_polynomial_u,2,chebyshev_u)
OXI_SPECIAL(chebyshev_polynomial_v,2,chebyshev_v)
OXI_SPECIAL(chebyshev_polynomial_w,2,chebyshev_w)
OXI_SPECIAL(shifted_chebyshev_polynomial_t,2,shifted_t)
OXI_SPECIAL(shifted_chebyshev_polynomial_u,2,shifted_u)
OXI_SPECIAL(shifted_chebyshev_polynomial_v,2,shifted_v)
OXI_SPECIAL(shifted_chebyshev_polynomial_w,2,shifted_w)
OXI_SPECIAL(hermite_polynomial_h,2,hermite_h)
OXI_SPECIAL(hermite_polynomial_he,2,hermite_he)
OXI_SPECIAL(laguerre_polynomial_l,2,laguerre)
OXI_SPECIAL(legendre_polynomial_p,2,legendre)
#undef OXI_SPECIAL
};
int64_t function=b->call->attr.special.function;bool second=function==OXI_SPECIAL_polygamma||function==OXI_SPECIAL_igamma||
function==OXI_SPECIAL_igammac;
int by=second?1:0;ox_tensor*y=b->out[0],*slope=NULL;if(b->wants[by]&&function>=0&&function<OXI_SPECIAL_COUNT)
slope=oxi_special_slope(function,b->call->in[0],b->call->in[1],y);
if(!slope&&ox_error()==OX_OK)
return oxi_fail(OX_ERR_UNSUPPORTED,"%s: has no derivative by operand %d",
function>=0&&function<OXI_SPECIAL_COUNT?names[function]:"special",b->wants[by]?by+1:2 -by);
return slope?oxi_gives(b,by,ox_mul(b->g[0],slope)):ox_error();}
/* >>autograd/rules/linalg.c */
static ox_tensor*oxi_half_diagonal(ox_tensor*x){return ox_mul_number(ox_add(ox_tril(x,0),ox_tril(x,-1)),0.5);}
OXI_GRADIENT_RULE(cholesky){bool upper=b->call->attr.triangle.upper;
ox_tensor*l=upper?oxi_adjoint(b->out[0]):b->out[0],*g=upper?oxi_adjoint(b->g[0]):b->g[0];if(!b->g[0])return OX_OK;
ox_tensor*turned=oxi_adjoint(l),*middle=oxi_half_diagonal(ox_matmul(turned,g));middle=ox_solve_triangular(turned,middle,true,true,false);
middle=ox_solve_triangular(l,middle,false,false,false);return oxi_gives(b,0,ox_mul_number(ox_add(middle,oxi_adjoint(middle)),0.5));}
static ox_tensor*oxi_lu_middle(ox_tensor*factors,ox_tensor*lower,ox_tensor*upper){
ox_tensor*middle=ox_add(ox_tril(lower,-1),ox_triu(upper,0));middle=ox_solve_triangular(oxi_adjoint(factors),middle,true,true,true);
return ox_solve_triangular(oxi_adjoint(factors),middle,false,false,false);}
static ox_tensor*oxi_with_ones(ox_tensor*x){ox_tensor*eye=x?oxi_eye_beside(x,x->shape[x->ndim-2]):NULL;
return eye?ox_add(ox_tril(x,-1),ox_narrow(eye,-1,0,x->shape[x->ndim-1])):NULL;}
OXI_GRADIENT_RULE(lu_factor){ox_tensor*lu=b->out[0],*g=b->g[0],*made,*parts[2];if(!g)return OX_OK;
int64_t m=lu->shape[lu->ndim-2],n=lu->shape[lu->ndim-1],k=m<n?m:n;
ox_tensor*square=ox_narrow(ox_narrow(lu,-2,0,k),-1,0,k),*u=ox_triu(square,0);ox_tensor*l=oxi_with_ones(square);
ox_tensor*gs=ox_narrow(ox_narrow(g,-2,0,k),-1,0,k);ox_tensor*lower=ox_matmul(oxi_adjoint(l),ox_tril(gs,-1)),
*upper=ox_matmul(ox_triu(gs,0),oxi_adjoint(u));
if(m<n){ox_tensor*u2=ox_narrow(lu,-1,k,n-k),*g2=ox_narrow(g,-1,k,n-k);
lower=ox_sub(lower,ox_matmul(g2,oxi_adjoint(u2)));parts[0]=oxi_lu_middle(square,lower,upper);
parts[1]=ox_solve_triangular(oxi_adjoint(square),g2,true,true,true);made=ox_cat(parts,2,-1);}else if(m>n){
ox_tensor*l2=ox_narrow(lu,-2,k,m-k),*g2=ox_narrow(g,-2,k,m-k);upper=ox_sub(upper,ox_matmul(oxi_adjoint(l2),g2));
parts[0]=oxi_lu_middle(square,lower,upper);parts[1]=ox_solve_triangular(oxi_adjoint(square),g2,false,false,false);
made=ox_cat(parts,2,-2);}else
made=oxi_lu_middle(square,lower,upper);
if(!made||!b->call->attr.pivot.pivot)return oxi_gives(b,0,made);
return oxi_gives(b,0,oxi_with_rows(made,oxi_rows_of_pivots(b->out[1],m,true,lu)));}
OXI_GRADIENT_RULE(solve){ox_tensor*gb=ox_solve(oxi_adjoint(b->call->in[0]),b->g[0],true);ox_status status=OX_OK;
if(b->wants[1])status=oxi_gives(b,1,gb);
if(status==OX_OK&&b->wants[0])
status=oxi_gives(b,0,ox_neg(ox_matmul(gb,oxi_adjoint(b->out[0]))));
return status;}
OXI_GRADIENT_RULE(solve_triangular){const oxi_attr_triangular*told=&b->call->attr.triangular;
ox_tensor*turned=oxi_adjoint(b->call->in[0]),*ga;ox_tensor*gb=ox_solve_triangular(turned,b->g[0],!told->upper,!told->right,told->unit);
ox_status status=OX_OK;if(b->wants[1])status=oxi_gives(b,1,gb);
if(status!=OX_OK||!b->wants[0])return status;
ga=told->right?ox_matmul(oxi_adjoint(b->out[0]),gb):ox_matmul(gb,oxi_adjoint(b->out[0]));
ga=told->upper?ox_triu(ga,told->unit):ox_tril(ga,-(int64_t)told->unit);return oxi_gives(b,0,ox_neg(ga));}
static ox_tensor*oxi_qr_square(ox_tensor*q,ox_tensor*r,ox_tensor*gq,ox_tensor*gr){
ox_tensor*m=gr?ox_matmul(r,oxi_adjoint(gr)):NULL,*right=gq;if(gq){ox_tensor*less=ox_matmul(oxi_adjoint(gq),q);
m=m?ox_sub(m,less):ox_neg(less);}
m=oxi_half_diagonal(m);m=ox_add(m,oxi_adjoint(m));right=gq?ox_add(gq,ox_matmul(q,m)):ox_matmul(q,m);
return ox_solve_triangular(oxi_adjoint(r),right,false,false,false);}
OXI_GRADIENT_RULE(qr){ox_tensor*q=b->out[0],*r=b->out[1],*gq=b->g[0],*gr=b->g[1],*parts[2];
int64_t m=q->shape[q->ndim-2],n=r->shape[r->ndim-1],k=r->shape[r->ndim-2];if(k>n)
return oxi_fail(OX_ERR_UNSUPPORTED,"qr: no gradient of a complete Q with more rows than columns");
if(m>=n)return oxi_gives(b,0,oxi_qr_square(q,r,gq,gr));
ox_tensor*right=ox_narrow(r,-1,m,n-m),*g1=gr?ox_narrow(gr,-1,0,m):NULL;ox_tensor*g2=gr?ox_narrow(gr,-1,m,n-m):NULL;
parts[1]=g2?ox_matmul(q,g2):ox_zeros_like(right);if(g2){ox_tensor*beside=ox_matmul(ox_matmul(q,right),oxi_adjoint(g2));
gq=gq?ox_add(gq,beside):beside;}
parts[0]=oxi_qr_square(q,ox_narrow(r,-1,0,m),gq,g1);return oxi_gives(b,0,ox_cat(parts,2,-1));}
static ox_tensor*oxi_inverse_gaps(ox_tensor*x){ox_tensor*gaps=ox_sub(ox_unsqueeze(x,-2),ox_unsqueeze(x,-1));if(!gaps)return NULL;
ox_tensor*eye=oxi_eye_beside(gaps,gaps->shape[gaps->ndim-1]);return ox_sub(ox_reciprocal(ox_add(gaps,eye)),eye);}
OXI_GRADIENT_RULE(eigh){ox_tensor*v=b->out[1],*turned=oxi_adjoint(v),*middle=NULL;
if(b->g[1])middle=ox_mul(ox_matmul(turned,b->g[1]),oxi_inverse_gaps(b->out[0]));
if(b->g[0]){ox_tensor*diagonal=ox_diag_embed(b->g[0],0,-2,-1);
middle=middle?ox_add(middle,diagonal):diagonal;}
middle=ox_matmul(ox_matmul(v,ox_cast(middle,v->dtype)),turned);
return oxi_gives(b,0,ox_mul_number(ox_add(middle,oxi_adjoint(middle)),0.5));}
static ox_tensor*oxi_outside(ox_tensor*q,ox_tensor*g,ox_tensor*s){
return oxi_times_columns(ox_sub(g,ox_matmul(q,ox_matmul(oxi_adjoint(q),g))),ox_reciprocal(s));}
OXI_GRADIENT_RULE(svd){ox_tensor*s=b->out[0],*both=b->out[1],*middle=NULL,*along=NULL,*made;
int64_t m=b->operand[0].shape[b->operand[0].ndim -2],n=b->operand[0].shape[b->operand[0].ndim -1];int64_t k=m<n?m:n;
ox_tensor*v=ox_narrow(both,-2,0,n),*u=ox_narrow(both,-2,n,m);if(b->g[0])middle=ox_diag_embed(b->g[0],0,-2,-1);
if(b->g[1]){ox_tensor*gv=ox_narrow(b->g[1],-2,0,n),*gu=ox_narrow(b->g[1],-2,n,m);
ox_tensor*gaps=oxi_inverse_gaps(ox_square(s));ox_tensor*su=ox_matmul(oxi_adjoint(u),gu),*sv=ox_matmul(oxi_adjoint(v),gv);
su=ox_sub(su,oxi_adjoint(su));if(oxi_is_complex(su))
along=ox_diag_embed(ox_div(ox_diagonal(su,0,-2,-1),ox_add(s,s)),0,-2,-1);
su=oxi_times_columns(ox_mul(su,gaps),s);sv=ox_mul(ox_mul(ox_sub(sv,oxi_adjoint(sv)),gaps),ox_unsqueeze(s,-1));su=ox_add(su,sv);
if(along)su=ox_add(su,along);
middle=middle?ox_add(middle,su):su;made=ox_matmul(ox_matmul(u,middle),oxi_adjoint(v));
if(m>k)made=ox_add(made,ox_matmul(oxi_outside(u,gu,s),oxi_adjoint(v)));
if(n>k)made=ox_add(made,ox_matmul(u,oxi_adjoint(oxi_outside(v,gv,s))));
return oxi_gives(b,0,made);}
return oxi_gives(b,0,ox_matmul(ox_matmul(u,ox_cast(middle,both->dtype)),oxi_adjoint(v)));}
OXI_GRADIENT_RULE(eig){ox_tensor*v=b->out[1],*turned=oxi_adjoint(v),*middle=NULL;if(b->g[1]){
ox_tensor*own=ox_matmul(turned,b->g[1]),*along=ox_real(ox_diagonal(own,0,-2,-1));
own=ox_sub(own,oxi_times_columns(ox_matmul(turned,v),along));middle=ox_mul(own,ox_conj(oxi_inverse_gaps(b->out[0])));}
if(b->g[0]){ox_tensor*diagonal=ox_diag_embed(b->g[0],0,-2,-1);
middle=middle?ox_add(middle,diagonal):diagonal;}
ox_tensor*made=ox_solve(turned,ox_matmul(middle,turned),true);return oxi_gives(b,0,b->operand[0].dtype==OX_C64?made:ox_real(made));}
OXI_GRADIENT_RULE(pinv){ox_tensor*a=b->call->in[0],*p=b->out[0],*pt=oxi_adjoint(p),*gt=oxi_adjoint(b->g[0]),*made;
int64_t m=b->operand[0].shape[b->operand[0].ndim -2],n=b->operand[0].shape[b->operand[0].ndim -1];if(m<=n){
ox_tensor*k=ox_matmul(gt,p),*kpt=ox_matmul(k,pt);made=ox_sub(kpt,oxi_adjoint(ox_matmul(p,k)));
made=ox_sub(made,ox_matmul(ox_matmul(a,p),kpt));made=ox_add(made,ox_matmul(ox_matmul(pt,p),ox_sub(gt,ox_matmul(k,a))));}else{
ox_tensor*k=ox_matmul(p,gt),*ptk=ox_matmul(pt,k);made=ox_sub(ptk,oxi_adjoint(ox_matmul(k,p)));
made=ox_add(made,ox_matmul(ox_matmul(ox_sub(gt,ox_matmul(a,k)),p),pt));made=ox_sub(made,ox_matmul(ox_matmul(ptk,p),a));}
return oxi_gives(b,0,made);}
OXI_GRADIENT_RULE(det){oxi_svd_parts p;if(!oxi_svd_of(b->call->in[0],&p))return ox_error();
int64_t k=p.s->shape[p.s->ndim-1];if(k==0)return oxi_gives(b,0,ox_zeros_like(b->call->in[0]));
ox_tensor*one=ox_ones_like(ox_narrow(p.s,-1,0,1)),*parts[2],*left,*right;parts[0]=one;parts[1]=ox_narrow(ox_cumprod(p.s,-1),-1,0,k-1);
left=ox_cat(parts,2,-1);parts[1]=ox_narrow(ox_cumprod(ox_flip(p.s,OX_DIMS(-1)),-1),-1,0,k-1);
right=ox_flip(ox_cat(parts,2,-1),OX_DIMS(-1));ox_tensor*sign=ox_det(p.v);if(oxi_is_complex(b->call->in[0]))
sign=ox_mul(ox_conj(ox_det(p.u)),sign);
else
sign=ox_round(ox_mul(ox_det(p.u),sign));
ox_tensor*made=ox_matmul(oxi_times_columns(p.u,ox_mul(left,right)),oxi_adjoint(p.v));
ox_tensor*factor=ox_unsqueeze(ox_unsqueeze(ox_mul(b->g[0],sign),-1),-1);return oxi_gives(b,0,ox_mul(made,factor));}
/* >>autograd/rules/fourier.c */
OXI_GRADIENT_RULE(fft_c2c){const oxi_attr_fourier*told=&b->call->attr.fourier;
return oxi_gives(b,0,oxi_fft_call(OXI_OP_fft_c2c,b->g[0],told->dim,0,!told->inverse,told->scale));}
OXI_GRADIENT_RULE(fft_r2c){const oxi_attr_fourier*told=&b->call->attr.fourier;
ox_tensor*g=oxi_resized(b->g[0],told->dim,b->operand[0].shape[told->dim]);return oxi_gives(b,0,
ox_real(oxi_fft_call(OXI_OP_fft_c2c,g,told->dim,0,!told->inverse,told->scale)));}
OXI_GRADIENT_RULE(fft_c2r){const oxi_attr_fourier*told=&b->call->attr.fourier;int64_t n=told->length,twice=(n-1)/2;
ox_tensor*g=oxi_fft_call(OXI_OP_fft_r2c,b->g[0],told->dim,0,!told->inverse,told->scale),*parts[3];
if(twice==0||!g)return oxi_gives(b,0,g);
parts[0]=ox_narrow(g,told->dim,0,1);parts[1]=ox_mul_number(ox_narrow(g,told->dim,1,twice),2);
parts[2]=ox_narrow(g,told->dim,1 +twice,n/2 -twice);return oxi_gives(b,0,ox_cat(parts,3,told->dim));}
/* >>autograd/rules/chain.c */
enum{OXI_CHAIN_LETTERS=6,OXI_GRADIENT_CHAINS=512,OXI_CHAIN_STEPS_LEAST=2};static const char oxi_chain_letters[]="abcyzg";
typedef enum oxi_letter_kind{OXI_LETTER_ABSENT,OXI_LETTER_TENSOR,OXI_LETTER_CONDITION,OXI_LETTER_NUMBER}oxi_letter_kind;
typedef struct oxi_number_source{int8_t attribute,letter;double value;}oxi_number_source;
typedef struct oxi_chain_item{bool known;int value;double number;}oxi_chain_item;
typedef struct oxi_gradient_chain{uint64_t key;int64_t ready;const oxi_chain*program;
int8_t letter_of[OXI_CHAIN_OPERANDS],gradient_of[OXI_MAX_OUT];oxi_number_source number[OXI_CHAIN_NUMBERS];}oxi_gradient_chain;
static oxi_gradient_chain oxi_gradient_chains[OXI_GRADIENT_CHAINS];static oxi_lock oxi_gradient_chain_lock;
static bool oxi_fold_numbers(oxi_op op,const double*in,int count,double*out){
oxi_map_kernel kernel=oxi_cpu_kernels()->map[op][OXI_LANE_F64];const void*at[3]={NULL,NULL,NULL};
oxi_map_numbers numbers=oxi_plain_numbers;oxi_attrs attr=oxi_attrs_by_default(op);uint8_t truth=0;
bool gives_truth=oxi_op_row_of(op)->gives==OXI_GIVES_BOOL;if(!kernel)return false;
oxi_attrs_numbers(op,&attr,numbers.f,3);for(int i=0;i<count;i++)at[i]=&in[i];
kernel(1,at,gives_truth?(void*)&truth:(void*)out,&numbers);if(gives_truth)*out=truth;
return true;}
typedef struct oxi_chain_writer{oxi_chain chain;oxi_gradient_chain*out;const uint8_t*kind;const double*attribute;
unsigned ones;}oxi_chain_writer;static int oxi_writer_number(oxi_chain_writer*w,int attribute,int letter,double value){
oxi_number_source source;memset(&source,0,sizeof source);source.attribute=(int8_t)attribute;source.letter=(int8_t)letter;
source.value=value;int count=w->chain.number_count;for(int j=0;j<count;j++)
if(memcmp(&w->out->number[j],&source,sizeof source)==0)return oxi_chain_number(j);
if(count==OXI_CHAIN_NUMBERS)return-1;
w->out->number[count]=source;w->chain.number_count++;return oxi_chain_number(count);}
static oxi_chain_item oxi_writer_letter(oxi_chain_writer*w,int letter){oxi_chain_item item={false,-1,0};
int place=(int)(strchr(oxi_chain_letters,'a'+letter)-oxi_chain_letters);
if(w->kind[place]==OXI_LETTER_NUMBER)item.value=oxi_writer_number(w,-1,place,0);
for(int i=0;i<w->chain.operand_count;i++)
if(w->out->letter_of[i]==place)item.value=oxi_chain_operand(i);
return item;}
static int oxi_writer_value(oxi_chain_writer*w,oxi_chain_item item){return item.known?oxi_writer_number(w,-1,-1,item.number):item.value;}
static bool oxi_writer_passes(oxi_op op,const oxi_chain_item*in,oxi_chain_item*item){
if(oxi_op_row_of(op)->flag==OXI_FLAG_MASKED&&in[0].known){*item=in[0].number!=0?in[1]:in[2];
return true;}
if(op==OXI_OP_mul&&in[1].known&&in[1].number==1){*item=in[0];
return true;}
return false;}
static oxi_chain_item oxi_writer_op(oxi_chain_writer*w,oxi_op op,const oxi_chain_item*in,int count){oxi_chain_item item={false,-1,0};
double numbers[3];
int values[3];bool known=true;if(oxi_writer_passes(op,in,&item))return item;
for(int i=0;i<count;i++){known=known&&in[i].known;
numbers[i]=in[i].number;}
if(known&&oxi_fold_numbers(op,numbers,count,&item.number)){item.known=true;
return item;}
for(int i=0;i<count;i++)values[i]=oxi_writer_value(w,in[i]);
item.value=oxi_chain_add(&w->chain,op,values,count);return item;}
static oxi_chain_item oxi_writer_formula(oxi_chain_writer*w,const oxi_formula*f){
oxi_chain_item stack[OXI_FORMULA_DEPTH],kept[OXI_FORMULA_KEPT];int height=0;for(int i=0;i<f->count;i++){const oxi_word*word=&f->words[i];
if(word->kind==OXI_WORD_OP){int count=oxi_op_row_of((oxi_op)word->index)->operands->in_count;
height-=count-1;stack[height-1]=oxi_writer_op(w,(oxi_op)word->index,&stack[height-1],count);continue;}
if(word->kind==OXI_WORD_KEEP){kept[word->index]=stack[height-1];
continue;}
oxi_chain_item*top=&stack[height++];top->known=word->kind==OXI_WORD_NUMBER;if(top->known)top->number=f->numbers[word->index];
if(word->kind==OXI_WORD_KEPT)*top=kept[word->index];
if(word->kind==OXI_WORD_LETTER)*top=oxi_writer_letter(w,word->index);
if(word->kind==OXI_WORD_ATTRIBUTE){top->known=w->ones>>word->index&1;
top->number=1;if(!top->known)top->value=oxi_writer_number(w,word->index,-1,0);}}
return stack[0];}
static void oxi_gradient_chain_write(oxi_gradient_chain*out,oxi_op op,unsigned wants,const uint8_t*kind,unsigned ones){
oxi_chain_writer w;bool fits=true;memset(&w,0,sizeof w);w.out=out;w.kind=kind;w.ones=ones;
memset(out->letter_of,-1,sizeof out->letter_of);for(int l=0;l<OXI_CHAIN_LETTERS;l++){
if(kind[l]!=OXI_LETTER_TENSOR&&kind[l]!=OXI_LETTER_CONDITION)continue;
if(kind[l]==OXI_LETTER_CONDITION)w.chain.conditions|=1u<<w.chain.operand_count;
out->letter_of[w.chain.operand_count++]=(int8_t)l;}
for(int i=0;i<3&&fits;i++){const oxi_formula*f=wants>>i&1?oxi_formula_of(op,i):NULL;
if(!f||f->refused)continue;
oxi_chain_item item=oxi_writer_formula(&w,f);if(item.known||(item.value>=0&&item.value<oxi_chain_value(0)))continue;
out->gradient_of[w.chain.result_count]=(int8_t)i;fits=oxi_chain_give(&w.chain,item.value);}
bool pays=w.chain.step_count>=OXI_CHAIN_STEPS_LEAST;out->program=fits&&pays?oxi_chain_finish(&w.chain):NULL;}
static const oxi_gradient_chain*oxi_gradient_chain_find(oxi_op op,unsigned wants,const uint8_t*kind,unsigned ones){
uint64_t key=(uint64_t)op<<24|wants<<20|ones<<16;for(int l=0;l<OXI_CHAIN_LETTERS;l++)key|=(uint64_t)kind[l]<<(2*l);
uint64_t place=key*0x9E3779B97F4A7C15u>>55;for(int tries=0;tries<16;tries++,place=(place+1)%OXI_GRADIENT_CHAINS){
oxi_gradient_chain*at=&oxi_gradient_chains[place];if(!oxi_atomic_load(&at->ready)){oxi_lock_take(&oxi_gradient_chain_lock);
if(!oxi_atomic_load(&at->ready)){at->key=key;
oxi_gradient_chain_write(at,op,wants,kind,ones);oxi_atomic_store(&at->ready,1);}
oxi_lock_give(&oxi_gradient_chain_lock);}
if(at->key==key)return at;}
return NULL;}
static bool oxi_chain_kinds(oxi_op op,unsigned wants,const oxi_formula_values*values,uint8_t*kind){unsigned letters=1u<<('g'-'a');
for(int i=0;i<3;i++){const oxi_formula*f=wants>>i&1?oxi_formula_of(op,i):NULL;
if(f)letters|=f->letters;}
for(int l=0;l<OXI_CHAIN_LETTERS;l++){int letter=oxi_chain_letters[l]-'a';
const ox_tensor*t=values->letter[letter];kind[l]=OXI_LETTER_ABSENT;if(!(letters>>letter&1))continue;
if(!t)return false;
ox_dtype_class of=oxi_info(t->dtype)->cls;if(t->is_number&&!ox_device_of(t)->host)return false;
kind[l]=t->is_number?OXI_LETTER_NUMBER:t->dtype==OX_BOOL?OXI_LETTER_CONDITION:OXI_LETTER_TENSOR;
if(kind[l]!=OXI_LETTER_CONDITION&&of!=OX_CLASS_FLOAT&&!(t->is_number&&of==OX_CLASS_INT))
return false;}
return true;}
static ox_dtype oxi_chain_result_dtype(const oxi_backward*b,int i){const oxi_outline*to=&b->operand[i],*from=&b->result[0];
const size_t bytes=(size_t)to->ndim*sizeof*to->shape;bool summed=to->ndim!=from->ndim||memcmp(to->shape,from->shape,bytes);
if(!summed&&oxi_info(to->dtype)->cls==OX_CLASS_FLOAT)return to->dtype;
return b->g[0]->dtype==OX_F64?OX_F64:OX_F32;}
static oxi_call oxi_gradient_chain_call(const oxi_gradient_chain*chain,const oxi_backward*b,
const oxi_formula_values*values,ox_tensor**in){const oxi_chain*program=chain->program;
oxi_attrs attr=oxi_attrs_chain();ox_dtype*dtypes[OXI_MAX_OUT]={&attr.chain.dtype,&attr.chain.dtype_2,&attr.chain.dtype_3,
&attr.chain.dtype_4};
for(int i=0;i<program->operand_count;i++)
in[i]=values->letter[oxi_chain_letters[chain->letter_of[i]]-'a'];
for(int j=0;j<program->number_count;j++){const oxi_number_source*from=&chain->number[j];
const ox_tensor*t=from->letter<0?NULL:values->letter[oxi_chain_letters[from->letter]-'a'];
attr.chain.numbers.n[j]=t?oxi_element_to_f64(t->dtype,oxi_ptr(t)):from->attribute>=0?values->attribute[from->attribute]:from->value;}
oxi_call call=oxi_call_of(OXI_OP_chain,in,program->operand_count,NULL);call.out_count=program->result_count;attr.chain.program=program;
for(int r=0;r<program->result_count;r++)
*dtypes[r]=oxi_chain_result_dtype(b,chain->gradient_of[r]);
call.attr=attr;return call;}
static ox_status oxi_gradients_by_chain(oxi_backward*b,const oxi_formula_values*values){uint8_t kind[OXI_CHAIN_LETTERS];
unsigned wants=0,ones=0;if(ox_is_grad_enabled()||!b->g[0])return OX_OK;
for(int i=0;i<b->call->in_count&&i<3;i++)wants|=(unsigned)b->wants[i]<<i;
for(int i=0;i<3;i++)ones|=(unsigned)(values->attribute[i]==1)<<i;
if(!oxi_chain_kinds(b->call->op,wants,values,kind))return OX_OK;
const oxi_gradient_chain*chain=oxi_gradient_chain_find(b->call->op,wants,kind,ones);if(!chain||!chain->program)return OX_OK;
ox_tensor*in[OXI_CHAIN_OPERANDS];oxi_call call=oxi_gradient_chain_call(chain,b,values,in);
ox_status status=oxi_call_runs_there(&call)?oxi_apply(&call):OX_OK;for(int r=0;status==OX_OK&&r<call.out_count&&call.out[r];r++)
b->grad[chain->gradient_of[r]]=call.out[r];
return status;}
/* >>autograd/rules/formula.c */
#define OXI_FORMULAS(op, ...)\
static const oxi_gradient_row oxi_gradient_of_##op={NULL,NULL,{__VA_ARGS__},OXI_OP_COUNT};
#define OXI_FORMULAS_ROW(op,row, ...)\
static const oxi_gradient_row oxi_gradient_of_##op={NULL,NULL,{__VA_ARGS__},OXI_OP_##row};
#define OXI_FORMULAS_BUT(op,rule, ...)\
static const oxi_gradient_row oxi_gradient_of_##op={NULL,oxi_gradient_##rule,{__VA_ARGS__},OXI_OP_COUNT};
#define OXI_GRADIENT(op,saves,rule)\
static const oxi_gradient_row oxi_gradient_of_##op={saves,oxi_gradient_##rule,{NULL,NULL,NULL},OXI_OP_COUNT};
/* >>autograd/grads.def */
#define OXI_ROWS_OF_AUTOGRAD_GRADS \
OXI_FORMULAS_BUT(abs,abs,"a sign g *")\
OXI_FORMULAS(neg,"g neg")\
OXI_FORMULAS(square,"a 2 * g *")\
OXI_FORMULAS(frac,"g")\
OXI_FORMULAS(clamp,"a f0 ge a f1 le logical_and a f0 gt a f1 lt logical_and a isinf logical_or ""logical_and g 0 where")\
OXI_FORMULAS(nan_to_num,"a isfinite g 0 where")\
OXI_FORMULAS(exp,"g y *")\
OXI_FORMULAS(exp2,"g y * 0.6931471805599453 *")\
OXI_FORMULAS(exp10,"g y * 2.302585092994046 *")\
OXI_FORMULAS(expm1,"y 1 + g *")\
OXI_FORMULAS(log,"g a /")\
OXI_FORMULAS(log2,"g a 0.6931471805599453 * /")\
OXI_FORMULAS(log10,"g a 2.302585092994046 * /")\
OXI_FORMULAS(log1p,"g a 1 + /")\
OXI_FORMULAS(sqrt,"g y 2 * /")\
OXI_FORMULAS(rsqrt,"y y * y * -0.5 * g *")\
OXI_FORMULAS(reciprocal,"y y * g * neg")\
OXI_FORMULAS(sin,"a cos g *")\
OXI_FORMULAS(cos,"a sin g * neg")\
OXI_FORMULAS(tan,"y y * 1 + g *")\
OXI_FORMULAS(asin,"1 a - a 1 + * rsqrt g *")\
OXI_FORMULAS(acos,"1 a - a 1 + * rsqrt g * neg")\
OXI_FORMULAS(atan,"g a a * 1 + /")\
OXI_FORMULAS(sinh,"a cosh g *")\
OXI_FORMULAS(cosh,"a sinh g *")\
OXI_FORMULAS(tanh,"1 y y * - g *")\
OXI_FORMULAS(asinh,"a a * 1 + rsqrt g *")\
OXI_FORMULAS(acosh,"a 1 - rsqrt a 1 + rsqrt * g *")\
OXI_FORMULAS(atanh,"g 1 a - a 1 + * /")\
OXI_FORMULAS(sigmoid,"1 y - y * g *")\
OXI_FORMULAS(erf,"a a * neg exp 1.1283791670955126 * g *")\
OXI_FORMULAS(erfc,"a a * neg exp -1.1283791670955126 * g *")\
OXI_FORMULAS(relu,"y 0 le 0 g where")\
OXI_FORMULAS(relu6,"y 0 le y 6 ge logical_or 0 g where")\
OXI_FORMULAS(leaky_relu,"a 0 gt g g f0 * where")\
OXI_FORMULAS(elu,"a 0 le a 0 minimum exp f0 * g * g where")\
OXI_FORMULAS(selu,"a 0 le a 0 minimum exp 1.7580993408473766 * g * g 1.0507009873554805 * where")\
OXI_FORMULAS(celu,"a 0 le a 0 minimum f0 / exp g * g where")\
OXI_FORMULAS_ROW(gelu,gelu_back,"a 0.7071067811865476 * erf 1 + 0.5 * a a * -0.5 * exp a * 0.3989422804014327 *"" + g *")\
OXI_FORMULAS_ROW(gelu_tanh,gelu_tanh_back,"a a * 0.07135481627260025 * 1.5957691216057308 + a * sigmoid =p 1 p - * a *" \
" a a * 0.21406444881780076 * 1.5957691216057308 + * p + g *")\
OXI_FORMULAS_ROW(silu,silu_back,"a sigmoid =p 1 p - a * 1 + * g *")\
OXI_FORMULAS(mish,"a softplus tanh =p a sigmoid a * 1 p p * - * + g *")\
OXI_FORMULAS(softplus,"a f0 * =p f1 gt g p sigmoid g * where")\
OXI_FORMULAS(softsign,"g a abs 1 + square /")\
OXI_FORMULAS(hardtanh,"y f0 le y f1 ge logical_or 0 g where")\
OXI_FORMULAS(hardsigmoid,"a abs 3 lt g 6 / 0 where")\
OXI_FORMULAS(hardswish,"a -3 le 0 a 3 lt a 3 / 0.5 + g * g where where")\
OXI_FORMULAS(logsigmoid,"a neg sigmoid g *")\
OXI_FORMULAS(threshold,"a f0 le 0 g where")\
OXI_FORMULAS(add,"g","g f0 *")\
OXI_FORMULAS(sub,"g","g f0 neg *")\
OXI_FORMULAS(mul,"g b *","g a *")\
OXI_FORMULAS(div,"g b /","g a b / b / * neg")\
OXI_FORMULAS(remainder,"g","a b floor_divide g * neg")\
OXI_FORMULAS(fmod,"g","a b trunc_divide g * neg")\
OXI_FORMULAS(pow,"b 0 eq 0 a b 1 - pow b * g * where","a 0 eq y isfinite logical_and 0 a log y * g * where")\
OXI_FORMULAS(maximum,"a b lt 0 a b eq g 2 / g where where","b a lt 0 a b eq g 2 / g where where")\
OXI_FORMULAS(minimum,"a b gt 0 a b eq g 2 / g where where","b a gt 0 a b eq g 2 / g where where")\
OXI_FORMULAS(atan2,"a a * b b * + =p 0 eq =q 0 b q 1 p where / g * where","a a * b b * + =p 0 eq =q 0 a q 1 p where / g * neg where")\
OXI_FORMULAS(hypot,"a y / g *","b y / g *")\
OXI_FORMULAS(copysign,"a sign y sign * g *")\
OXI_FORMULAS(silu_mul,"a sigmoid =p 1 p - a * 1 + * b * g *","a silu g *")\
OXI_FORMULAS(gelu_mul,"a a * 0.07135481627260025 * 1.5957691216057308 + a * sigmoid =p 1 p - * a *" \
" a a * 0.21406444881780076 * 1.5957691216057308 + * p + b * g *","a gelu_tanh g *")\
OXI_FORMULAS(where,NULL,"a g 0 where","a 0 g where")\
OXI_FORMULAS(lerp,"1 c - g *","g c *","b a - g *")\
OXI_FORMULAS(addcmul,"g","g f0 * c *","g f0 * b *")\
OXI_FORMULAS(addcdiv,"g","g f0 * c /","g f0 * c / b * c / neg")\
OXI_GRADIENT(clamp_tensor,"abc",clamp_tensor)\
OXI_GRADIENT(special,"aby;aby",special)\
OXI_GRADIENT(copy,"",same)\
OXI_GRADIENT(to,"",same)\
OXI_GRADIENT(alias,"",same)\
OXI_GRADIENT(expand,"",same)\
OXI_GRADIENT(permute,"",permute)\
OXI_GRADIENT(view,"",view)\
OXI_GRADIENT(slice,"",slice)\
OXI_GRADIENT(select,"",select)\
OXI_GRADIENT(diagonal,"",diagonal)\
OXI_GRADIENT(as_strided,"a",as_strided)\
OXI_GRADIENT(unfold,"",unfold)\
OXI_GRADIENT(view_as_real,"",view_as_real)\
OXI_GRADIENT(view_as_complex,"",view_as_complex)\
OXI_GRADIENT(flip,"",flip)\
OXI_GRADIENT(sum,"",sum)\
OXI_GRADIENT(nansum,"a",nansum)\
OXI_GRADIENT(mean,"",mean)\
OXI_GRADIENT(prod,"a",prod)\
OXI_GRADIENT(amax,"ay",extreme)\
OXI_GRADIENT(amin,"ay",extreme)\
OXI_GRADIENT(var,"a",var)\
OXI_GRADIENT(std,"ay",std)\
OXI_GRADIENT(logsumexp,"ay",logsumexp)\
OXI_GRADIENT(norm,"ay",norm)\
OXI_GRADIENT(max_dim,"z",chosen)\
OXI_GRADIENT(min_dim,"z",chosen)\
OXI_GRADIENT(cumsum,"",cumsum)\
OXI_GRADIENT(cumprod,"ay",cumprod)\
OXI_GRADIENT(sort,"z",sorted)\
OXI_GRADIENT(topk,"z",sorted)\
OXI_GRADIENT(softmax,"y",softmax)\
OXI_GRADIENT(log_softmax,"y",log_softmax)\
OXI_GRADIENT(layer_norm,"ab;a;",layer_norm)\
OXI_GRADIENT(rms_norm,"ab;a",rms_norm)\
OXI_GRADIENT(group_norm,"ab;a;",group_norm)\
OXI_GRADIENT(instance_norm,"ab;a;",group_norm)\
OXI_GRADIENT(batch_norm,"abcd;;;abc;",batch_norm)\
OXI_GRADIENT(gather,"b",gather)\
OXI_GRADIENT(scatter,"b;;b",scatter)\
OXI_GRADIENT(scatter_add,";;b",scatter_add)\
OXI_GRADIENT(scatter_prod,"abc;;abcy",scatter_prod)\
OXI_GRADIENT(scatter_amax,"abcy",scatter_extreme)\
OXI_GRADIENT(scatter_amin,"abcy",scatter_extreme)\
OXI_GRADIENT(index_select,"b",index_select)\
OXI_GRADIENT(index_add,";;b",index_add)\
OXI_GRADIENT(masked_select,"b",masked_select)\
OXI_GRADIENT(embedding,"b",embedding)\
OXI_GRADIENT(triu,"",triangle)\
OXI_GRADIENT(tril,"",triangle)\
OXI_GRADIENT(cat,"",cat)\
OXI_GRADIENT(roll,"",roll)\
OXI_GRADIENT(matmul,"b;a",matmul)\
OXI_GRADIENT(linear,"abcy;abcy;abcy",linear)\
OXI_GRADIENT(linear_experts,"bc;ac;;c",linear_experts)\
OXI_GRADIENT(addmm,";c;b",addmm)\
OXI_GRADIENT(conv,"b;a;",conv)\
OXI_GRADIENT(conv_back_input,"b;a;",conv_back_input)\
OXI_GRADIENT(conv_back_weight,"b;a",conv_back_weight)\
OXI_GRADIENT(max_pool,"z",max_pool)\
OXI_GRADIENT(avg_pool,"",avg_pool)\
OXI_GRADIENT(avg_pool_back,"",avg_pool_back)\
OXI_GRADIENT(cholesky,"y",cholesky)\
OXI_GRADIENT(lu_factor,"yz",lu_factor)\
OXI_GRADIENT(solve,"ay;a",solve)\
OXI_GRADIENT(solve_triangular,"ay;a",solve_triangular)\
OXI_GRADIENT(qr,"yz",qr)\
OXI_GRADIENT(eigh,"yz",eigh)\
OXI_GRADIENT(svd,"yz",svd)\
OXI_GRADIENT(eig,"yz",eig)\
OXI_GRADIENT(pinv,"ay",pinv)\
OXI_GRADIENT(det,"a",det)\
OXI_GRADIENT(fft_c2c,"",fft_c2c)\
OXI_GRADIENT(fft_r2c,"",fft_r2c)\
OXI_GRADIENT(fft_c2r,"",fft_c2r)\
OXI_GRADIENT(rope,"bc",rope)\
OXI_GRADIENT(attention,"abcdeyz",attention)
#ifndef OXI_FORMULAS
#define OXI_FORMULAS(...)
#endif
#ifndef OXI_FORMULAS_BUT
#define OXI_FORMULAS_BUT(...)
#endif
#ifndef OXI_FORMULAS_ROW
#define OXI_FORMULAS_ROW(op,row, ...)OXI_FORMULAS(op,__VA_ARGS__)
#endif
#ifndef OXI_GRADIENT
#define OXI_GRADIENT(...)
#endif
OXI_ROWS_OF_AUTOGRAD_GRADS
#undef OXI_FORMULAS
#undef OXI_FORMULAS_BUT
#undef OXI_FORMULAS_ROW
#undef OXI_GRADIENT
static const oxi_gradient_row*oxi_gradient_row_of(oxi_op op){switch(op){
#define OXI_FORMULAS(op, ...)\
case OXI_OP_##op:return&oxi_gradient_of_##op;
#define OXI_FORMULAS_BUT(op, ...)OXI_FORMULAS(op,"")
#define OXI_GRADIENT(op, ...)OXI_FORMULAS(op,"")
#ifndef OXI_FORMULAS
#define OXI_FORMULAS(...)
#endif
#ifndef OXI_FORMULAS_BUT
#define OXI_FORMULAS_BUT(...)
#endif
#ifndef OXI_FORMULAS_ROW
#define OXI_FORMULAS_ROW(op,row, ...)OXI_FORMULAS(op,__VA_ARGS__)
#endif
#ifndef OXI_GRADIENT
#define OXI_GRADIENT(...)
#endif
OXI_ROWS_OF_AUTOGRAD_GRADS
#undef OXI_FORMULAS
#undef OXI_FORMULAS_BUT
#undef OXI_FORMULAS_ROW
#undef OXI_GRADIENT
default:return NULL;}}
enum{
#define OXI_FORMULAS(op, ...)OXI_FORMULA_ROW_##op,
#define OXI_FORMULAS_BUT(op, ...)OXI_FORMULAS(op,"")
#ifndef OXI_FORMULAS
#define OXI_FORMULAS(...)
#endif
#ifndef OXI_FORMULAS_BUT
#define OXI_FORMULAS_BUT(...)
#endif
#ifndef OXI_FORMULAS_ROW
#define OXI_FORMULAS_ROW(op,row, ...)OXI_FORMULAS(op,__VA_ARGS__)
#endif
#ifndef OXI_GRADIENT
#define OXI_GRADIENT(...)
#endif
OXI_ROWS_OF_AUTOGRAD_GRADS
#undef OXI_FORMULAS
#undef OXI_FORMULAS_BUT
#undef OXI_FORMULAS_ROW
#undef OXI_GRADIENT
OXI_FORMULA_ROWS};
static oxi_formula oxi_formulas[OXI_FORMULA_ROWS][3];static oxi_lock oxi_formula_lock;static int oxi_formula_row_of(oxi_op op){
switch(op){
#define OXI_FORMULAS(op, ...)\
case OXI_OP_##op:return OXI_FORMULA_ROW_##op;
#define OXI_FORMULAS_BUT(op, ...)OXI_FORMULAS(op,"")
#ifndef OXI_FORMULAS
#define OXI_FORMULAS(...)
#endif
#ifndef OXI_FORMULAS_BUT
#define OXI_FORMULAS_BUT(...)
#endif
#ifndef OXI_FORMULAS_ROW
#define OXI_FORMULAS_ROW(op,row, ...)OXI_FORMULAS(op,__VA_ARGS__)
#endif
#ifndef OXI_GRADIENT
#define OXI_GRADIENT(...)
#endif
OXI_ROWS_OF_AUTOGRAD_GRADS
#undef OXI_FORMULAS
#undef OXI_FORMULAS_BUT
#undef OXI_FORMULAS_ROW
#undef OXI_GRADIENT
default:return-1;}}
static bool oxi_word_of(oxi_formula*f,const char*text,size_t length,oxi_word*out){char first=text[0],*end;
if(length==1&&first>='a'&&first<='z'){bool kept=first>='p'&&first<'p'+OXI_FORMULA_KEPT;
out->kind=kept?OXI_WORD_KEPT:OXI_WORD_LETTER;out->index=(uint16_t)(first-(kept?'p':'a'));return kept||first<='e'||first=='g'||first>='y';
}
if(length==2&&(first=='f'||first=='=')){out->kind=first=='f'?OXI_WORD_ATTRIBUTE:OXI_WORD_KEEP;
out->index=(uint16_t)(text[1]-(first=='f'?'0':'p'));return out->index<3;}
oxi_op op=oxi_map_op_named(text,length);out->kind=OXI_WORD_OP;out->index=(uint16_t)op;if(op!=OXI_OP_COUNT)return true;
double number=strtod(text,&end);
out->kind=OXI_WORD_NUMBER;out->index=(uint16_t)f->number_count;if(end!=text+length||f->number_count==OXI_FORMULA_NUMBERS)return false;
f->numbers[f->number_count++]=number;return true;}
static int oxi_height_behind(const oxi_word*word,int height){int takes=0;if(word->kind==OXI_WORD_KEEP)takes=1;
if(word->kind==OXI_WORD_OP)takes=oxi_op_row_of((oxi_op)word->index)->operands->in_count;
return takes>height||height-takes==OXI_FORMULA_DEPTH?0:height-takes+1;}
static void oxi_formula_compile(oxi_formula*f,const char*text){int height=0;while(*text&&!f->refused){size_t length=strcspn(text," ");
oxi_word*word=&f->words[f->count];bool known=f->count<OXI_FORMULA_WORDS&&oxi_word_of(f,text,length,word);if(known){
height=oxi_height_behind(word,height);known=height>0;if(word->kind==OXI_WORD_LETTER&&word->index!='g'-'a')f->letters|=1u<<word->index;
f->count++;}
if(!known)f->refused=text;
text+=length;text+=strspn(text," ");}
if(!f->refused&&height!=1)f->refused=text;}
static const oxi_formula*oxi_formula_of(oxi_op op,int i){const oxi_gradient_row*row=oxi_gradient_row_of(op);
int place=oxi_formula_row_of(op);if(place<0||i>2||!row->formula[i])return NULL;
oxi_formula*f=&oxi_formulas[place][i];if(oxi_atomic_load(&f->compiled))return f;
oxi_lock_take(&oxi_formula_lock);if(!oxi_atomic_load(&f->compiled)){oxi_formula_compile(f,row->formula[i]);
oxi_atomic_store(&f->compiled,1);}
oxi_lock_give(&oxi_formula_lock);return f;}
static unsigned oxi_formula_letters(const char*formula){unsigned letters=0;for(;formula&&*formula;formula+=strspn(formula," ")){
size_t length=strcspn(formula," ");bool is_letter=length==1&&*formula>='a'&&*formula<='z'&&*formula!='g';
if(is_letter&&(*formula<'p'||*formula>='p'+OXI_FORMULA_KEPT))
letters|=1u<<(*formula-'a');
formula+=length;}
return letters;}
static unsigned oxi_linear_letters(const oxi_call*call,const bool*wants){const unsigned a=1,b=2,c=4,y=1u<<('y'-'a');
unsigned own=(wants[0]?b:0)|(wants[1]?a:0);switch(call->attr.activation.activation){case OX_ACTIVATION_NONE:return own;
case OX_ACTIVATION_RELU:
case OX_ACTIVATION_SIGMOID:
case OX_ACTIVATION_TANH:return own|y;
default:return a|b|c;}}
static bool oxi_special_reads_result(const oxi_call*call){switch(call->attr.special.function){case OXI_SPECIAL_erfinv:
case OXI_SPECIAL_erfcx:
case OXI_SPECIAL_ndtri:
case OXI_SPECIAL_i0e:
case OXI_SPECIAL_i1:
case OXI_SPECIAL_i1e:return true;
default:return false;}}
static unsigned oxi_gradient_letters(const oxi_call*call,const bool*wants){const oxi_gradient_row*row=oxi_gradient_row_of(call->op);
unsigned letters=0;if(!row)return 0;
if(call->op==OXI_OP_linear)return oxi_linear_letters(call,wants);
for(int i=0;!row->saves&&i<3&&i<call->in_count;i++)
if(wants[i])letters|=oxi_formula_letters(row->formula[i]);
if(!row->saves)return letters;
bool apart=strchr(row->saves,';')!=NULL;int i=0;for(const char*at=row->saves;*at;at++){if(*at==';')
i++;
else if(!apart||wants[i])
letters|=1u<<(*at-'a');}
if((call->op==OXI_OP_attention&&call->out_count==1)||(call->op==OXI_OP_special&&!oxi_special_reads_result(call)))
letters&=(1u<<OXI_LETTER_RESULTS)-1;
return letters;}
typedef struct oxi_operand{ox_tensor*t;double number;}oxi_operand;
static bool oxi_run_word(oxi_op op,oxi_operand*in,int count){ox_tensor*t[3]={NULL,NULL,NULL};double number[3];
bool numbers=true;for(int i=0;i<count;i++){numbers=numbers&&!in[i].t;
number[i]=in[i].number;}
if(oxi_op_row_of(op)->flag==OXI_FLAG_MASKED&&!in[0].t){in[0]=in[0].number!=0?in[1]:in[2];
return true;}
if(numbers&&oxi_fold_numbers(op,number,count,&in[0].number))return true;
bool by_one=op==OXI_OP_mul&&!in[1].t&&in[1].number==1;if(by_one)return true;
for(int i=0;i<count;i++){t[i]=in[i].t?in[i].t:ox_number(in[i].number);
if(!t[i])return false;}
oxi_attrs attr=oxi_attrs_by_default(op);in[0].t=oxi_apply_list(op,&attr,t,count,NULL);if(in[0].t&&numbers)in[0].t->is_number=true;
return in[0].t!=NULL;}
static bool oxi_formula_letter(const oxi_formula*f,oxi_formula_values*values,int letter,oxi_operand*out){
ox_tensor*t=values->letter[letter];if(!t)return oxi_fail(OX_ERR_ARG,"a formula reads what was not saved: %c",'a'+letter)==OX_OK;
out->t=t;if(f->count==1)return true;
if(t->is_number&&t->dtype!=OX_C64&&ox_device_of(t)->host){out->number=oxi_element_to_f64(t->dtype,oxi_ptr(t));
out->t=NULL;return true;}
if(!values->ready[letter]){t=oxi_wide(t);
values->ready[letter]=t&&t->dtype==OX_C64&&letter!='g'-'a'?ox_conj(t):t;}
out->t=values->ready[letter];return out->t!=NULL;}
static bool oxi_formula_is_g(const oxi_formula*f,const oxi_formula_values*values){const oxi_word*w=f->words;
return f->count==3&&w[0].kind==OXI_WORD_LETTER&&w[0].index=='g'-'a'&&w[1].kind==OXI_WORD_ATTRIBUTE&&values->attribute[w[1].index]==1&&
w[2].kind==OXI_WORD_OP&&w[2].index==OXI_OP_mul;}
static ox_tensor*oxi_formula_value(const oxi_formula*f,oxi_formula_values*values){
oxi_operand stack[OXI_FORMULA_DEPTH],kept[OXI_FORMULA_KEPT];int height=0;
if(f->refused)return OXI_FAIL_NULL(OX_ERR_ARG,"a formula of grads.def at \"%s\"",f->refused);
if(oxi_formula_is_g(f,values))return values->letter['g'-'a'];
for(int i=0;i<f->count;i++){const oxi_word*word=&f->words[i];
if(word->kind==OXI_WORD_OP){int count=oxi_op_row_of((oxi_op)word->index)->operands->in_count;
height-=count-1;if(!oxi_run_word((oxi_op)word->index,&stack[height-1],count))return NULL;
continue;}
if(word->kind==OXI_WORD_KEEP){kept[word->index]=stack[height-1];
continue;}
oxi_operand*top=&stack[height++];top->t=NULL;if(word->kind==OXI_WORD_NUMBER)top->number=f->numbers[word->index];
if(word->kind==OXI_WORD_ATTRIBUTE)top->number=values->attribute[word->index];
if(word->kind==OXI_WORD_KEPT)*top=kept[word->index];
if(word->kind==OXI_WORD_LETTER&&!oxi_formula_letter(f,values,word->index,top))return NULL;}
return stack[0].t?stack[0].t:ox_number(stack[0].number);}
static ox_status oxi_gradient_by_formula(const oxi_gradient_row*row,oxi_backward*b){const oxi_call*call=b->call;
oxi_formula_values values;memset(&values,0,sizeof values);(void)oxi_attrs_numbers(call->op,&call->attr,values.attribute,3);
for(int i=0;i<call->in_count;i++)values.letter[i]=call->in[i];
for(int i=0;i<2;i++)values.letter['y'-'a'+i]=b->out[i];
values.letter['g'-'a']=b->g[0];ox_status status=oxi_function_back(row->row,call->in[0],b->g[0],&b->grad[0]);
if(status!=OX_OK||b->grad[0])return status;
status=oxi_gradients_by_chain(b,&values);if(status!=OX_OK)return status;
for(int i=0;i<call->in_count&&i<3;i++){const bool open=b->wants[i]&&row->formula[i]&&!b->grad[i];
const oxi_formula*f=open?oxi_formula_of(call->op,i):NULL;if(!f)continue;
b->grad[i]=oxi_formula_value(f,&values);if(!b->grad[i])return ox_error();}
return OX_OK;}
static ox_tensor*oxi_formula_run(oxi_op op,const oxi_attrs*attr,ox_tensor*x,ox_tensor*y,ox_tensor*g){
const oxi_formula*f=oxi_formula_of(op,0);oxi_formula_values values;ox_tensor*by_row=NULL;
if(f&&oxi_function_back(oxi_gradient_row_of(op)->row,x,g,&by_row)!=OX_OK)return NULL;
if(by_row)return by_row;
memset(&values,0,sizeof values);if(attr)(void)oxi_attrs_numbers(op,attr,values.attribute,3);
values.letter[0]=x;values.letter['y'-'a']=y;values.letter['g'-'a']=g;return f?oxi_formula_value(f,&values):NULL;}
/* >>autograd/graph.h */
#ifndef OX_AUTOGRAD_GRAPH_H
#define OX_AUTOGRAD_GRAPH_H
typedef struct oxi_counted{int64_t references;
struct oxi_counted*next_dead;bool is_node;}oxi_counted;typedef struct oxi_tape oxi_tape;typedef struct oxi_edge{oxi_node*node;int output;
oxi_tape*leaf;}oxi_edge;typedef struct oxi_hook{struct oxi_hook*next;int64_t number;ox_gradient_hook change;
ox_accumulated_hook accumulated;ox_operation_hook operation;ox_tensor*header;void*user;struct oxi_hook**list;oxi_tape*tape;
struct oxi_hook*sibling;}oxi_hook;struct oxi_tape{oxi_counted counted;bool requires_grad;oxi_edge made;ox_tensor*gradient;
oxi_outline outline;oxi_hook*hooks;oxi_hook*registered;const char*changed_by;oxi_tape*parent,*base;oxi_call view;ox_tensor*viewed;
bool became;bool unrecorded;int64_t generation;};typedef struct oxi_saved{ox_tensor*tensor;int64_t version;oxi_edge edge;
const ox_saved_hooks*hooks;void*packed;}oxi_saved;typedef enum oxi_node_kind{OXI_NODE_CALL,OXI_NODE_PUT_BACK,OXI_NODE_CUSTOM
}oxi_node_kind;
struct oxi_node{oxi_counted counted;oxi_node_kind kind;int64_t sequence;oxi_call call;const oxi_gradient_row*row;
int in_count,out_count,saved_count;oxi_edge*edges;oxi_outline*operand,*result;bool*wants;oxi_saved*saved;bool released;oxi_hook**hooks;
oxi_hook*watchers;oxi_tape**keeper;const ox_function*function;void*user;oxi_call*views;int view_count;int*saved_output;size_t bytes;};


OXI_SMALL bool oxi_edge_is(const oxi_edge*edge){return edge->node||edge->leaf;}

OXI_SMALL bool oxi_has_gradients(ox_dtype dtype){
return oxi_is_float(dtype)||oxi_info(dtype)->cls==OX_CLASS_COMPLEX;}
static ox_tensor*oxi_plain_header(const ox_tensor*t);
static oxi_node*oxi_node_new(oxi_node_kind kind,int in_count,int out_count,int saved_count);
typedef struct oxi_checkpoint oxi_checkpoint;
static void oxi_checkpoints_empty(oxi_checkpoint*list);static int64_t oxi_saved_version(const oxi_saved*saved,const ox_tensor*now);
#endif
/* >>autograd/tape.c */
static void oxi_counted_keep(oxi_counted*counted){oxi_atomic_add(&counted->references,1);}
static void oxi_counted_give(oxi_counted*counted,oxi_counted**dead){if(!counted||oxi_atomic_add(&counted->references,-1)>0)return;
counted->next_dead=*dead;*dead=counted;}
static void oxi_edge_give(oxi_edge*edge,oxi_counted**dead){if(edge->node)oxi_counted_give(&edge->node->counted,dead);
if(edge->leaf)oxi_counted_give(&edge->leaf->counted,dead);
edge->node=NULL;edge->leaf=NULL;}
static void oxi_hooks_free(oxi_hook*hook){while(hook){oxi_hook*next=hook->next,**at=hook->tape?&hook->tape->registered:NULL;
while(at&&*at!=hook)at=&(*at)->sibling;
if(at)*at=hook->sibling;
ox_release(hook->header);oxi_free(hook,sizeof*hook);hook=next;}}
static void oxi_keeper_leaves(oxi_tape*tape){oxi_node*node=tape->made.node;
if(node&&node->keeper[tape->made.output]==tape)node->keeper[tape->made.output]=NULL;}
static void oxi_tape_free(oxi_tape*tape,oxi_counted**dead){oxi_keeper_leaves(tape);oxi_edge_give(&tape->made,dead);
if(tape->parent)oxi_counted_give(&tape->parent->counted,dead);
ox_release(tape->gradient);ox_release(tape->viewed);oxi_hooks_free(tape->hooks);
for(oxi_hook*hook=tape->registered;hook;hook=hook->sibling)hook->tape=NULL;
oxi_free(tape,sizeof*tape);}
static void oxi_saved_drop(oxi_saved*saved,oxi_counted**dead){ox_release(saved->tensor);
if(saved->packed)saved->hooks->drop(saved->packed,saved->hooks->user);
oxi_edge_give(&saved->edge,dead);saved->tensor=NULL;saved->packed=NULL;}
static void oxi_node_free(oxi_node*node,oxi_counted**dead){for(int i=0;i<node->in_count;i++)oxi_edge_give(&node->edges[i],dead);
for(int i=0;i<node->saved_count;i++)oxi_saved_drop(&node->saved[i],dead);
for(int i=0;i<node->out_count;i++)oxi_hooks_free(node->hooks[i]);
oxi_hooks_free(node->watchers);if(node->kind==OXI_NODE_CUSTOM&&node->function->drop)node->function->drop(node->user);
oxi_free(node->views,(size_t)node->view_count*sizeof*node->views);oxi_free(node,node->bytes);}
static void oxi_bury(oxi_counted*dead){while(dead){oxi_counted*one=dead;
dead=one->next_dead;if(one->is_node)
oxi_node_free((oxi_node*)one,&dead);
else
oxi_tape_free((oxi_tape*)one,&dead);}}
static void oxi_counted_drop(oxi_counted*counted){oxi_counted*dead=NULL;oxi_counted_give(counted,&dead);oxi_bury(dead);}
static void oxi_tape_drop(void*tape){oxi_counted_drop(&((oxi_tape*)tape)->counted);}
static oxi_edge oxi_edge_copy(const oxi_edge*edge){if(edge->node)oxi_counted_keep(&edge->node->counted);
if(edge->leaf)oxi_counted_keep(&edge->leaf->counted);
return*edge;}
static void oxi_edge_drop(oxi_edge*edge){oxi_counted*dead=NULL;oxi_edge_give(edge,&dead);oxi_bury(dead);}
static void oxi_outline_of(const ox_tensor*t,oxi_outline*out){out->dtype=t->dtype;out->ndim=t->ndim;
memcpy(out->shape,t->shape,sizeof out->shape);out->device=ox_device_of(t);}
static oxi_tape*oxi_tape_new(const ox_tensor*t){oxi_tape*tape=(oxi_tape*)oxi_calloc(1,sizeof*tape);if(!tape)return NULL;
tape->counted.references=1;tape->base=tape;oxi_outline_of(t,&tape->outline);if(oxi_atomic_load(&oxi_tape_dropper)==0)
oxi_atomic_store(&oxi_tape_dropper,(int64_t)(intptr_t)oxi_tape_drop);
return tape;}
static oxi_tape*oxi_tape_of(ox_tensor*t){if(!t->tape)t->tape=oxi_tape_new(t);
return(oxi_tape*)t->tape;}
static ox_status oxi_tape_view(const oxi_call*call,oxi_node*node,bool recorded){
oxi_tape*parent=oxi_tape_of(call->in[0]),*tape=parent?oxi_tape_of(call->out[0]):NULL;if(!tape)return OX_ERR_NOMEM;
oxi_counted_keep(&parent->counted);tape->parent=parent;tape->base=parent->base;tape->generation=parent->base->generation;
tape->view=*call;tape->view.in=NULL;tape->view.out[0]=NULL;tape->unrecorded=!recorded||parent->unrecorded;
if(call->op==OXI_OP_as_strided&&!(tape->viewed=oxi_plain_header(call->in[0])))return OX_ERR_NOMEM;
if(node){oxi_counted_keep(&node->counted);
tape->made.node=node;}
return OX_OK;}
static void oxi_tape_comes_from(oxi_tape*tape,const oxi_edge*edge){oxi_edge before=tape->made,now=oxi_edge_copy(edge);
oxi_node*node=before.node;if(node&&node->keeper[before.output]==tape){node->keeper[before.output]=NULL;
if(now.node)now.node->keeper[now.output]=tape;}
tape->made=now;oxi_edge_drop(&before);}
static oxi_edge oxi_tape_edge_now(oxi_tape*tape){oxi_edge edge=tape->made;if(!edge.node&&tape->requires_grad)edge.leaf=tape;
return edge;}
static ox_status oxi_view_of_edge(const oxi_tape*tape,const oxi_edge*from,oxi_edge*made){memset(made,0,sizeof*made);
if(!oxi_edge_is(from))return OX_OK;
oxi_node*node=oxi_node_new(OXI_NODE_CALL,1,1,tape->viewed?1:0);if(!node)return OX_ERR_NOMEM;
made->node=node;if(tape->viewed)node->saved[0].tensor=oxi_plain_header(tape->viewed);
node->call=tape->view;node->row=oxi_gradient_row_of(tape->view.op);node->edges[0]=oxi_edge_copy(from);
node->operand[0]=tape->parent->outline;node->result[0]=tape->outline;return OX_OK;}
static oxi_tape*oxi_shown_by(const oxi_tape*view){oxi_tape*shown=view->parent;while(shown->parent&&!shown->became)shown=shown->parent;
return shown;}
static oxi_tape*oxi_next_view(oxi_tape*view,const oxi_tape*at){while(view->parent!=at)view=view->parent;
return view;}
static ox_status oxi_view_afresh(oxi_tape*tape,oxi_edge*edge){oxi_tape*at=oxi_shown_by(tape);oxi_edge now=oxi_tape_edge_now(at),made;
ox_status status=OX_OK;now=oxi_edge_copy(&now);while(at!=tape&&status==OX_OK){at=oxi_next_view(tape,at);
status=oxi_view_of_edge(at,&now,&made);oxi_edge_drop(&now);now=made;}
*edge=now;return status;}
static bool oxi_is_stale(const oxi_tape*tape){return tape->parent&&tape->generation!=tape->base->generation;}
static ox_status oxi_tape_edge(oxi_tape*tape,oxi_edge*edge){while(oxi_is_stale(tape)){oxi_tape*first=tape;
for(oxi_tape*t=tape->parent;t;t=t->parent)
if(t->became&&oxi_is_stale(t))first=t;
ox_status status=oxi_view_afresh(first,edge);if(status==OX_OK)oxi_tape_comes_from(first,edge);
oxi_edge_drop(edge);if(status!=OX_OK)return status;
first->generation=first->base->generation;}
*edge=oxi_tape_edge_now(tape);return OX_OK;}
static ox_status oxi_tape_before(oxi_tape*tape,oxi_edge*edge){ox_status status=oxi_tape_edge(oxi_shown_by(tape),edge);
return status==OX_OK?oxi_view_afresh(tape,edge):status;}
static ox_status oxi_put_back(oxi_tape*view,oxi_tape*shown,const oxi_edge*now,oxi_edge*made){oxi_edge before;
ox_status status=oxi_tape_edge(shown,&before);memset(made,0,sizeof*made);
if(status!=OX_OK||(!oxi_edge_is(&before)&&!oxi_edge_is(now)))return status;
oxi_node*node=oxi_node_new(OXI_NODE_PUT_BACK,2,1,0);if(!node)return OX_ERR_NOMEM;
made->node=node;for(const oxi_tape*t=view;t!=shown;t=t->parent)node->view_count++;
node->views=(oxi_call*)oxi_alloc((size_t)node->view_count*sizeof*node->views);if(!node->views)return OX_ERR_NOMEM;
int i=node->view_count;for(const oxi_tape*t=view;t!=shown;t=t->parent)node->views[--i]=t->view;
node->call=view->view;node->edges[0]=oxi_edge_copy(&before);node->edges[1]=oxi_edge_copy(now);
node->operand[0]=node->result[0]=shown->outline;node->operand[1]=view->outline;return OX_OK;}
static bool oxi_is_keeper(const oxi_tape*tape){return tape->made.node&&tape->made.node->keeper[tape->made.output]==tape;}
static ox_status oxi_tape_rewrite(oxi_tape*tape,const oxi_edge*edge,const char*by){oxi_edge now=oxi_edge_copy(edge),above;
ox_status status=OX_OK;oxi_tape*t=tape;tape->changed_by=tape->base->changed_by=by;while(t->parent&&status==OX_OK){
oxi_tape*shown=oxi_shown_by(t);status=oxi_put_back(t,shown,&now,&above);oxi_edge_drop(&now);now=above;t=shown;}
if(status==OX_OK)oxi_tape_comes_from(t,&now);
oxi_edge_drop(&now);tape->base->generation++;return status==OX_OK&&tape->parent&&oxi_is_keeper(tape)?oxi_tape_edge(tape,&above):status;}
/* >>autograd/node.c */
static size_t oxi_room_for(size_t*bytes,int count,size_t each){size_t at=(*bytes+15)/16*16;
*bytes=at+(size_t)count*each;return at;}
static int64_t oxi_next_sequence(void){static int64_t sequence;return oxi_atomic_add(&sequence,1);}
static oxi_node*oxi_node_new(oxi_node_kind kind,int in_count,int out_count,int saved_count){size_t bytes=sizeof(oxi_node);
size_t edges=oxi_room_for(&bytes,in_count,sizeof(oxi_edge)),operand=oxi_room_for(&bytes,in_count,sizeof(oxi_outline)),
wants=oxi_room_for(&bytes,in_count,sizeof(bool)),result=oxi_room_for(&bytes,out_count,sizeof(oxi_outline)),
saved=oxi_room_for(&bytes,saved_count,sizeof(oxi_saved)),output=oxi_room_for(&bytes,saved_count,sizeof(int)),
hooks=oxi_room_for(&bytes,out_count,sizeof(oxi_hook*)),keeper=oxi_room_for(&bytes,out_count,sizeof(oxi_tape*));
char*block=(char*)oxi_alloc(bytes);if(!block)return NULL;
oxi_node*node=(oxi_node*)block;memset(block,0,bytes);node->counted.references=1;node->counted.is_node=true;node->kind=kind;
node->sequence=oxi_next_sequence();node->in_count=in_count;node->out_count=out_count;node->saved_count=saved_count;
node->edges=(oxi_edge*)(block+edges);node->operand=(oxi_outline*)(block+operand);node->wants=(bool*)(block+wants);
node->result=(oxi_outline*)(block+result);node->saved=(oxi_saved*)(block+saved);node->saved_output=(int*)(block+output);
node->hooks=(oxi_hook**)(block+hooks);node->keeper=(oxi_tape**)(block+keeper);node->bytes=bytes;return node;}
static void oxi_node_forget(oxi_node*node){oxi_counted*dead=NULL;for(int i=0;i<node->saved_count;i++){oxi_saved*saved=&node->saved[i];
if((!saved->tensor&&!saved->packed)||(saved->tensor&&saved->tensor->is_number))continue;
oxi_saved_drop(saved,&dead);node->released=true;}
oxi_bury(dead);}
static const char*oxi_call_name(const oxi_call*call){return call->name?call->name:oxi_op_row_of(call->op)->name;}
static const char*oxi_node_name(const oxi_node*node){if(node->kind!=OXI_NODE_CUSTOM)return oxi_call_name(&node->call);
return node->function->name?node->function->name:"function";}
static ox_tensor*oxi_plain_header(const ox_tensor*t){ox_tensor*header=oxi_tensor_over(t->storage,t);if(!header)return NULL;
oxi_scope_unlink(header);header->is_number=t->is_number;return header;}
static OXI_THREAD_LOCAL const ox_saved_hooks*oxi_saved_hooks;static OXI_THREAD_LOCAL int oxi_saving;
static void oxi_saves(int op,int i){oxi_saving=op*256 +i;}
OX_API const ox_saved_hooks*ox_set_saved_hooks(const ox_saved_hooks*hooks){const ox_saved_hooks*before=oxi_saved_hooks;
oxi_saved_hooks=hooks;return before;}
static ox_status oxi_save_tensor(oxi_saved*saved,const ox_tensor*t,int64_t version,const oxi_edge*edge){
if(t->storage->inference&&!t->is_number)
return oxi_fail(OX_ERR_ARG,"%s is an inference tensor, which no gradient may need; ox_clone gives a ""plain one",oxi_tensor_text(t));
saved->tensor=oxi_plain_header(t);if(!saved->tensor)return OX_ERR_NOMEM;
saved->version=version;if(edge)saved->edge=oxi_edge_copy(edge);
if(!oxi_saved_hooks||t->is_number||saved->edge.leaf)return OX_OK;
saved->hooks=oxi_saved_hooks;saved->packed=saved->hooks->pack(saved->tensor,saved->hooks->user);if(!saved->packed)return OX_OK;
ox_release(saved->tensor);saved->tensor=NULL;return OX_OK;}
static ox_status oxi_attach(ox_tensor*t,const oxi_edge*edge){oxi_tape*tape;if(edge->leaf){oxi_counted_keep(&edge->leaf->counted);
t->tape=edge->leaf;return OX_OK;}
if(!edge->node)return OX_OK;
tape=oxi_tape_of(t);if(!tape)return OX_ERR_NOMEM;
tape->made=oxi_edge_copy(edge);return OX_OK;}
static ox_tensor*oxi_saved_plain(const oxi_saved*saved,const char*name,bool changes){
const ox_tensor*kept=saved->packed?saved->hooks->unpack(saved->packed,saved->hooks->user):saved->tensor;
ox_tensor*t=kept?oxi_tensor_over(kept->storage,kept):NULL;if(!t&&ox_error()==OX_OK)
(void)oxi_fail(OX_ERR_ARG,"backward: %s: a saved tensor was not unpacked",name);
if(t&&!changes&&oxi_atomic_load(&t->storage->version)!=oxi_saved_version(saved,t)){
const char*by=saved->edge.leaf?saved->edge.leaf->changed_by:NULL;return OXI_FAIL_NULL(OX_ERR_ARG,
"backward: %s needs the numbers of %s, which was changed in place%s%s",name,oxi_tensor_text(t),by?" by ":" since",by?by:"");}
if(t&&saved->tensor)t->is_number=saved->tensor->is_number;
return t;}
static ox_tensor*oxi_saved_take(oxi_node*node,oxi_saved*saved,int output,bool with_tape){oxi_edge edge=saved->edge;
bool view=oxi_op_row_of(node->call.op)->family==OXI_FAMILY_VIEW;ox_tensor*t=oxi_saved_plain(saved,oxi_node_name(node),view);
if(output>=0){edge.node=node;
edge.output=output;}
if(t&&with_tape&&oxi_attach(t,&edge)!=OX_OK)t=NULL;
return t;}
static bool oxi_is_saved(unsigned letters,const oxi_call*call,int i){
return call->in[i]&&(call->in[i]->is_number||(i<OXI_LETTER_RESULTS&&letters>>i&1));}
typedef struct oxi_recording{oxi_node*node;unsigned letters;bool given;}oxi_recording;static OXI_THREAD_LOCAL oxi_recording oxi_recorded;
static OXI_THREAD_LOCAL int64_t oxi_checkpoint_since;static ox_status oxi_check_written(const oxi_call*call,bool wants){
const oxi_tape*tape=call->out[0]?(const oxi_tape*)call->out[0]->tape:NULL;const char*name=oxi_call_name(call);if(!tape)return OX_OK;
bool leaf=tape->base->requires_grad;for(const oxi_tape*t=tape;t&&!leaf;t=t->parent)leaf=t->requires_grad;
if(leaf)
return oxi_fail(OX_ERR_ARG,"%s: a leaf that wants a gradient%s is changed in place; use OX_NO_GRAD",
name,tape->requires_grad?"":" (by a view of it)");
if(tape->base->made.node&&tape->base->made.node->sequence<oxi_checkpoint_since)
return oxi_fail(OX_ERR_ARG,"%s: a result from outside of a checkpoint, which runs twice, is changed ""in place in it",name);
if(tape->unrecorded&&(wants||tape->base->made.node))
return oxi_fail(OX_ERR_ARG,"%s: a view that was made while nothing was recorded, or by a call without a ""gradient, is changed in place",
name);
return OX_OK;}
static ox_status oxi_edges_of(const oxi_call*call,oxi_edge*edges,bool*wants){*wants=false;for(int i=0;i<call->in_count;i++){
ox_tensor*t=call->in[i];memset(&edges[i],0,sizeof edges[i]);if(!t||!t->tape||!oxi_has_gradients(t->dtype))continue;
ox_status status=oxi_tape_edge((oxi_tape*)t->tape,&edges[i]);if(status!=OX_OK)return status;
*wants=*wants||oxi_edge_is(&edges[i]);}
return OX_OK;}
static ox_status oxi_save_operand(oxi_saved*saved,const oxi_call*call,int i,const oxi_edge*edge){ox_tensor*t=call->in[i];
if(!call->out[0]||call->out[0]->storage!=t->storage)
return oxi_save_tensor(saved,t,oxi_atomic_load(&t->storage->version),edge);
ox_scope scope=ox_scope_begin();ox_tensor*copy=ox_clone(t);
ox_status status=copy?oxi_save_tensor(saved,copy,oxi_atomic_load(&copy->storage->version),edge):ox_error();ox_scope_end(&scope);
return status;}
static ox_status oxi_record_operands(oxi_node*node,const oxi_call*call,const oxi_edge*edges,unsigned letters){ox_status status=OX_OK;
for(int i=0;i<call->in_count&&status==OX_OK;i++){if(!call->in[i])continue;
node->edges[i]=oxi_edge_copy(&edges[i]);oxi_outline_of(call->in[i],&node->operand[i]);if(!oxi_is_saved(letters,call,i))continue;
oxi_saves((int)call->op,i);status=oxi_save_operand(&node->saved[i],call,i,&edges[i]);}
return status;}
static ox_status oxi_record(const oxi_call*call,const oxi_op_row*row,const oxi_edge*edges){
const oxi_gradient_row*known=oxi_gradient_row_of(call->op);if(!known&&row->gradient==OXI_GRADIENT_yes)
return oxi_fail(OX_ERR_UNSUPPORTED,"%s: no gradient is known",row->name);
oxi_node*node=oxi_node_new(OXI_NODE_CALL,call->in_count,call->out_count,call->in_count+call->out_count);if(!node)return OX_ERR_NOMEM;
node->row=known;node->call=*call;node->call.in=NULL;node->call.out[0]=node->call.out[1]=NULL;
for(int i=0;i<call->in_count;i++)node->wants[i]=oxi_edge_is(&edges[i]);
unsigned letters=oxi_gradient_letters(call,node->wants);ox_status status=oxi_record_operands(node,call,edges,letters);if(status!=OX_OK){
oxi_counted_drop(&node->counted);return status;}
oxi_recorded.node=node;oxi_recorded.letters=letters;return OX_OK;}
static ox_status oxi_record_before(oxi_listener*self,const oxi_call*call,ox_device*device){const oxi_op_row*row=oxi_op_row_of(call->op);
oxi_edge few[OXI_MAX_IN],*edges=few;bool wants=false,taped=false;ox_status status=OX_OK;(void)self,(void)device;oxi_recorded.node=NULL;
oxi_recorded.given=call->out[0]!=NULL;if(oxi_recorded.given&&call->out[0]->storage->inference&&!oxi_inference_mode)
return oxi_fail(OX_ERR_ARG,"%s: an inference tensor is changed in place outside of inference mode",oxi_call_name(call));
if(oxi_grad_off||call->op==OXI_OP_alias)return OX_OK;
for(int i=0;i<call->in_count;i++)taped=taped||(call->in[i]&&call->in[i]->tape);
if(!taped||row->gradient==OXI_GRADIENT_none)return oxi_check_written(call,false);
size_t bytes=(size_t)call->in_count*sizeof*edges;if(call->in_count>OXI_MAX_IN)edges=(oxi_edge*)oxi_alloc(bytes);
if(!edges)return OX_ERR_NOMEM;
status=oxi_edges_of(call,edges,&wants);if(status==OX_OK)status=oxi_check_written(call,wants);
if(status==OX_OK&&wants)status=oxi_record(call,row,edges);
if(edges!=few)oxi_free(edges,bytes);
return status;}
static ox_status oxi_record_results(oxi_node*node,const oxi_call*call,unsigned letters){ox_status status=OX_OK;
for(int k=0;k<call->out_count&&status==OX_OK;k++){ox_tensor*t=call->out[k];
oxi_outline_of(t,&node->result[k]);if(!(letters>>(OXI_LETTER_RESULTS+k)&1))continue;
oxi_saves((int)call->op,call->in_count+k);status=oxi_save_tensor(&node->saved[call->in_count+k],t,oxi_atomic_load(&t->storage->version),
NULL);}
return status;}
static ox_status oxi_attach_results(oxi_node*node,const oxi_call*call){ox_status status=OX_OK;
for(int k=0;k<call->out_count&&status==OX_OK;k++){oxi_edge edge={node,k,NULL};
if(oxi_has_gradients(call->out[k]->dtype))status=oxi_attach(call->out[k],&edge);}
return status;}
static ox_status oxi_share_tape(const oxi_call*call){oxi_tape*tape=(oxi_tape*)call->in[0]->tape;
if(!tape&&!oxi_grad_off)tape=oxi_tape_of(call->in[0]);
if(tape)oxi_counted_keep(&tape->counted);
call->out[0]->tape=tape;return tape||oxi_grad_off?OX_OK:OX_ERR_NOMEM;}
static ox_status oxi_record_cut(const oxi_call*call,oxi_tape*tape,oxi_edge*edge){oxi_edge before;
ox_status status=oxi_tape_edge(tape,&before);if(status!=OX_OK||!oxi_edge_is(&before))return status;
edge->node=oxi_node_new(OXI_NODE_CALL,1,1,0);if(!edge->node)return OX_ERR_NOMEM;
edge->node->call=*call;edge->node->call.in=NULL;edge->node->call.out[0]=NULL;edge->node->edges[0]=oxi_edge_copy(&before);
edge->node->operand[0]=edge->node->result[0]=tape->outline;return OX_OK;}
static ox_status oxi_record_view_write(const oxi_call*call,oxi_tape*tape,oxi_node*node){oxi_edge before;
if(!node||call->op==OXI_OP_copy||!call->in[0]||call->in[0]->tape!=tape||tape->became)
return OX_OK;
ox_status status=oxi_tape_before(tape,&before);if(status!=OX_OK)return status;
oxi_edge_drop(&node->edges[0]);node->edges[0]=before;node->sequence=oxi_next_sequence();return OX_OK;}
static ox_status oxi_record_write(const oxi_call*call,oxi_node*node){oxi_edge edge={node,0,NULL};
oxi_tape*tape=(oxi_tape*)call->out[0]->tape;const char*name=oxi_call_name(call);if(tape&&oxi_grad_off)tape->changed_by=name;
if(oxi_grad_off||(!tape&&!node)||!oxi_has_gradients(call->out[0]->dtype))return OX_OK;
tape=oxi_tape_of(call->out[0]);ox_status status=!tape?OX_ERR_NOMEM:tape->parent?oxi_record_view_write(call,tape,node):node?OX_OK
:oxi_record_cut(call,tape,&edge);
if(status==OX_OK)status=oxi_tape_rewrite(tape,&edge,name);
if(!node)oxi_edge_drop(&edge);
return status;}
static ox_status oxi_record_after_call(const oxi_call*call,const oxi_recording*recorded){
bool view=oxi_op_row_of(call->op)->family==OXI_FAMILY_VIEW;ox_status status=OX_OK;if(call->op==OXI_OP_alias)return oxi_share_tape(call);
if(recorded->node)status=oxi_record_results(recorded->node,call,recorded->letters);
if(status!=OX_OK)return status;
if(recorded->given)return oxi_record_write(call,recorded->node);
if(view&&oxi_has_gradients(call->out[0]->dtype)){bool known=oxi_op_row_of(call->op)->gradient==OXI_GRADIENT_yes;
return oxi_grad_off&&!call->in[0]->tape?OX_OK:oxi_tape_view(call,recorded->node,known&&!oxi_grad_off);}
return recorded->node?oxi_attach_results(recorded->node,call):OX_OK;}
static void oxi_record_after(oxi_listener*self,const oxi_call*call,ox_device*device,ox_status status){
oxi_recording recorded=oxi_recorded;(void)self,(void)device;oxi_recorded.node=NULL;
if(status==OX_OK&&oxi_record_after_call(call,&recorded)!=OX_OK){
(void)oxi_fail(OX_ERR_NOMEM,"%s: no memory to record the call",oxi_op_row_of(call->op)->name);
if(recorded.node)recorded.node->released=true;}
if(recorded.node)oxi_counted_drop(&recorded.node->counted);}
static oxi_listener oxi_recorder={oxi_record_before,oxi_record_after,NULL};static void oxi_start_back(void){static int64_t started;
if(oxi_atomic_load(&started))return;
oxi_lock_take(&oxi_gradient_chain_lock);if(!oxi_atomic_load(&started))oxi_cpu_back=oxi_run_back;
oxi_atomic_store(&started,1);oxi_lock_give(&oxi_gradient_chain_lock);}
static ox_status oxi_start_recording(const char*name){oxi_start_back();if(oxi_listen(&oxi_recorder))return OX_OK;
return oxi_fail(OX_ERR_UNSUPPORTED,"%s: too many listen to calls",name);}
/* >>autograd/engine.c */
typedef struct oxi_task{oxi_counted*what;int64_t pending;bool needed;int first;}oxi_task;typedef struct oxi_sum{ox_tensor*sum;bool fresh;
bool wanted;}oxi_sum;struct oxi_pass{oxi_task*tasks;int count,reached;size_t room;int*places,place_room;oxi_sum*g;int g_count;
size_t g_room;int*ready,ready_count;bool create_graph,retain_graph;bool only;bool keeps;};
static int64_t oxi_task_sequence(const oxi_task*task){return task->what->is_node?((const oxi_node*)task->what)->sequence:INT64_MAX;}
static int*oxi_place_of(const oxi_pass*run,const oxi_counted*what){uint64_t hash=(uint64_t)(uintptr_t)what/16*0x9E3779B97F4A7C15u;
int at=(int)(hash>>32)&(run->place_room-1);while(run->places[at]&&run->tasks[run->places[at]-1].what!=what)
at=(at+1)&(run->place_room-1);
return&run->places[at];}
static bool oxi_places_grow(oxi_pass*run){int room=run->place_room?run->place_room*2:256;
int*places=(int*)oxi_calloc((size_t)room,sizeof*places);if(!places)return false;
oxi_free(run->places,(size_t)run->place_room*sizeof*places);run->places=places;run->place_room=room;
for(int i=0;i<run->count;i++)*oxi_place_of(run,run->tasks[i].what)=i+1;
return true;}
static int oxi_task_of(oxi_pass*run,oxi_counted*what){if(run->count*2>=run->place_room&&!oxi_places_grow(run))return-1;
int*place=oxi_place_of(run,what),outputs=what->is_node?((oxi_node*)what)->out_count:1;if(*place)return*place-1;
void*tasks=oxi_grow(run->tasks,&run->room,(size_t)run->count+1,sizeof*run->tasks,false);if(tasks)run->tasks=(oxi_task*)tasks;
void*g=oxi_grow(run->g,&run->g_room,(size_t)(run->g_count+outputs),sizeof*run->g,false);if(g)run->g=(oxi_sum*)g;
if(!tasks||!g)return-1;
memset(run->g+run->g_count,0,(size_t)outputs*sizeof*run->g);oxi_task*task=&run->tasks[run->count];memset(task,0,sizeof*task);
task->what=what;task->first=run->g_count;oxi_counted_keep(what);run->g_count+=outputs;*place=++run->count;return run->count-1;}
static int oxi_task_of_edge(oxi_pass*run,const oxi_edge*edge){
return oxi_task_of(run,edge->node?&edge->node->counted:&edge->leaf->counted);}
static oxi_sum*oxi_sum_of_edge(oxi_pass*run,int task,const oxi_edge*edge){
return&run->g[run->tasks[task].first +(edge->node?edge->output:0)];}
static ox_status oxi_find_tasks(oxi_pass*run){for(int i=0;i<run->count;i++){if(!run->tasks[i].what->is_node)continue;
oxi_node*node=(oxi_node*)run->tasks[i].what;for(int e=0;e<node->in_count;e++)
if(oxi_edge_is(&node->edges[e])&&oxi_task_of_edge(run,&node->edges[e])<0)
return OX_ERR_NOMEM;}
return OX_OK;}
static int oxi_earlier_task(const void*a,const void*b){const int64_t*x=(const int64_t*)a,*y=(const int64_t*)b;
return(x[0]>y[0])-(x[0]<y[0]);}
static ox_status oxi_mark_needed(oxi_pass*run){size_t bytes=(size_t)run->reached*2*sizeof(int64_t);
int64_t*order=(int64_t*)oxi_alloc(bytes);if(!order)return OX_ERR_NOMEM;
for(int i=0;i<run->reached;i++){order[2*i]=run->tasks[i].what->is_node?oxi_task_sequence(&run->tasks[i]):-1;
order[2*i+1]=i;}
qsort(order,(size_t)run->reached,2*sizeof*order,oxi_earlier_task);for(int i=0;i<run->reached;i++){
oxi_task*task=&run->tasks[order[2*i+1]];oxi_node*node=task->what->is_node?(oxi_node*)task->what:NULL;
if(!node&&!run->only)task->needed=true;
for(int e=0;node&&e<node->in_count;e++){if(!oxi_edge_is(&node->edges[e]))continue;
int to=oxi_task_of_edge(run,&node->edges[e]);bool wanted=run->tasks[to].needed||oxi_sum_of_edge(run,to,&node->edges[e])->wanted;
task->needed=task->needed||wanted;}}
oxi_free(order,bytes);return OX_OK;}
static bool oxi_edge_is_needed(oxi_pass*run,const oxi_edge*edge){if(!oxi_edge_is(edge))return false;
int to=oxi_task_of_edge(run,edge);return run->tasks[to].needed||oxi_sum_of_edge(run,to,edge)->wanted;}
static void oxi_count_pending(oxi_pass*run){for(int i=0;i<run->reached;i++){
if(!run->tasks[i].what->is_node||!run->tasks[i].needed)continue;
oxi_node*node=(oxi_node*)run->tasks[i].what;for(int e=0;e<node->in_count;e++)
if(oxi_edge_is_needed(run,&node->edges[e]))
run->tasks[oxi_task_of_edge(run,&node->edges[e])].pending++;}}
static bool oxi_task_before(const oxi_pass*run,int a,int b){
return oxi_task_sequence(&run->tasks[run->ready[a]])>oxi_task_sequence(&run->tasks[run->ready[b]]);}
static void oxi_ready_swap(oxi_pass*run,int a,int b){int task=run->ready[a];run->ready[a]=run->ready[b];run->ready[b]=task;}
static void oxi_ready_put(oxi_pass*run,int task){int at=run->ready_count++;run->ready[at]=task;
for(;at>0&&oxi_task_before(run,at,(at-1)/2);at=(at-1)/2)
oxi_ready_swap(run,at,(at-1)/2);}
static int oxi_ready_take(oxi_pass*run){int first=run->ready[0];run->ready[0]=run->ready[--run->ready_count];for(int at=0;;){
int next=2*at+1;if(next>=run->ready_count)return first;
if(next+1<run->ready_count&&oxi_task_before(run,next+1,next))next++;
if(!oxi_task_before(run,next,at))return first;
oxi_ready_swap(run,at,next);at=next;}}
static bool oxi_same_as_outline(const ox_tensor*t,const oxi_outline*outline){bool same=t->ndim==outline->ndim;
for(int d=0;d<outline->ndim&&same;d++)same=t->shape[d]==outline->shape[d];
return same;}
static ox_tensor*oxi_fit_gradient(ox_tensor*g,const oxi_outline*to){bool smaller=g->ndim<to->ndim;for(int d=0;d<to->ndim&&!smaller;d++){
int64_t size=g->shape[g->ndim-to->ndim+d];smaller=size==1&&to->shape[d]!=1;}
if(smaller)g=ox_expand(g,oxi_outline_shape(to));
if(g)g=oxi_summed_to(g,oxi_outline_shape(to));
if(g&&g->dtype!=to->dtype)g=ox_cast(g,to->dtype);
if(g&&!oxi_common_device(ox_device_of(g),to->device))g=ox_to(g,to->device);
return g;}
static int64_t oxi_detects_anomaly;static bool oxi_gradient_is_own(const ox_tensor*g){
return g->references==1&&g->storage->references==1&&!g->storage->read_only&&ox_is_contiguous(g);}
static ox_status oxi_add_gradient(const oxi_pass*run,oxi_sum*sum,ox_tensor*g){ox_tensor*total;if(!sum->sum){sum->sum=ox_retain(g);
return OX_OK;}
bool into=!run->create_graph&&sum->sum->dtype==g->dtype&&oxi_same_sizes(g,sum->sum,-1);
if(sum->fresh||(into&&oxi_gradient_is_own(sum->sum)))
return ox_add_(sum->sum,g)?OX_OK:ox_error();
total=ox_add(sum->sum,g);if(!total)return ox_error();
ox_release(sum->sum);sum->sum=ox_retain(total);sum->fresh=!run->create_graph;return OX_OK;}
static ox_tensor*oxi_sum_so_far(const oxi_backward*b,int i){oxi_pass*run=(oxi_pass*)b->pass;
if(!run||run->create_graph||b->node->watchers||oxi_atomic_load(&oxi_detects_anomaly))return NULL;
const oxi_edge*edge=&b->node->edges[i];ox_tensor*sum=oxi_sum_of_edge(run,oxi_task_of_edge(run,edge),edge)->sum;
return sum&&oxi_gradient_is_own(sum)?sum:NULL;}
static ox_status oxi_bring(oxi_pass*run,const oxi_edge*edge,const oxi_outline*to,ox_tensor*g){int task=oxi_task_of_edge(run,edge);
ox_status status=OX_OK;if(g){g=oxi_fit_gradient(g,to);
status=g?oxi_add_gradient(run,oxi_sum_of_edge(run,task,edge),g):ox_error();}
if(--run->tasks[task].pending==0)oxi_ready_put(run,task);
return status;}
static ox_status oxi_run_hooks(oxi_sum*sum,const oxi_hook*hook){for(;hook&&sum->sum;hook=hook->next){
ox_tensor*changed=hook->change?hook->change(sum->sum,hook->user):NULL;if(!changed){if(hook->change&&ox_error()!=OX_OK)return ox_error();
continue;}
if(!oxi_same_sizes(changed,sum->sum,-1))
return oxi_fail(OX_ERR_SHAPE,"backward: a hook made %s of a gradient %s",oxi_tensor_text(changed),oxi_tensor_text(sum->sum));
ox_retain(changed);ox_release(sum->sum);sum->sum=changed;sum->fresh=false;}
return OX_OK;}
static ox_tensor*oxi_own_gradient(const oxi_pass*run,const oxi_sum*sum){
bool own=sum->fresh||(sum->sum->references==1&&sum->sum->storage->references==1);
if(run->create_graph||(own&&ox_is_contiguous(sum->sum)))return sum->sum;
return ox_clone(sum->sum);}
static ox_status oxi_keep_gradient(const oxi_pass*run,oxi_tape*tape,const oxi_sum*sum){ox_tensor*g;if(!sum->sum)return OX_OK;
if(tape->gradient&&!run->create_graph&&!tape->gradient->tape)
return ox_add_(tape->gradient,sum->sum)?OX_OK:ox_error();
g=tape->gradient?ox_add(tape->gradient,sum->sum):oxi_own_gradient(run,sum);if(!g)return ox_error();
ox_retain(g);ox_release(tape->gradient);tape->gradient=g;return OX_OK;}
static ox_status oxi_run_accumulated_hooks(oxi_tape*leaf){for(const oxi_hook*hook=leaf->hooks;hook;hook=hook->next){
if(!hook->accumulated)continue;
ox_tensor*t=oxi_tensor_over(hook->header->storage,hook->header);if(!t)return OX_ERR_NOMEM;
oxi_counted_keep(&leaf->counted);t->tape=leaf;hook->accumulated(t,hook->user);}
return OX_OK;}
static ox_status oxi_run_leaf(oxi_pass*run,oxi_tape*leaf,const oxi_task*task){oxi_sum*sum=&run->g[task->first];
ox_status status=oxi_run_hooks(sum,leaf->hooks);if(status!=OX_OK||!run->keeps||!sum->sum||(run->only&&!sum->wanted))return status;
status=oxi_keep_gradient(run,leaf,sum);return status==OX_OK?oxi_run_accumulated_hooks(leaf):status;}
static ox_tensor*oxi_zeros_like(const oxi_outline*outline){return oxi_full("zeros",oxi_outline_shape(outline),0,outline->dtype,
oxi_working_device(outline->device));}
static ox_status oxi_run_call(oxi_pass*run,oxi_node*node,oxi_sum*sums,const bool*wants,ox_tensor**in,ox_tensor**grad){
oxi_call call=node->call;oxi_backward b;memset(&b,0,sizeof b);for(int i=0;i<node->saved_count;i++){oxi_saved*saved=&node->saved[i];
int output=i-node->in_count;if(!saved->tensor&&!saved->packed)continue;
ox_tensor*t=oxi_saved_take(node,saved,output,run->create_graph);if(!t)return ox_error();
if(output<0)
in[i]=t;
else
b.out[output]=t;}
call.in=in;call.in_count=node->in_count;b.call=&call;b.operand=node->operand;b.result=node->result;b.wants=wants;b.grad=grad;b.pass=run;
b.node=node;for(int k=0;k<node->out_count;k++)b.g[k]=sums[k].sum;
if(node->row)return node->row->rule?node->row->rule(&b):oxi_gradient_by_formula(node->row,&b);
for(int i=0;i<node->in_count;i++)
if(wants[i]&&!(grad[i]=oxi_zeros_like(&node->operand[i])))return ox_error();
return OX_OK;}
static ox_tensor*oxi_views_again(const oxi_node*node,ox_tensor*g){const oxi_call*view=node->views;
for(int i=0;g&&i<node->view_count;i++)g=oxi_apply_1(view[i].op,&view[i].attr,g);
return g;}
static ox_status oxi_run_put_back(const oxi_node*node,ox_tensor*g,const bool*wants,ox_tensor**grad){if(wants[0]){grad[0]=ox_clone(g);
ox_tensor*part=oxi_views_again(node,grad[0]);if(!part||!ox_zero_(part))return ox_error();}
if(wants[1])grad[1]=oxi_views_again(node,ox_contiguous(g));
return wants[1]&&!grad[1]?ox_error():OX_OK;}
static ox_status oxi_run_custom(oxi_pass*run,oxi_node*node,oxi_sum*sums,const bool*wants,ox_tensor**in,ox_tensor**grad){
ox_function_context context;ox_status status=OX_OK;size_t bytes=(size_t)node->out_count*sizeof(ox_tensor*);
ox_tensor**g=(ox_tensor**)oxi_alloc(bytes);if(!g)return OX_ERR_NOMEM;
for(int k=0;k<node->out_count;k++)g[k]=sums[k].sum;
for(int i=0;i<node->saved_count&&status==OX_OK;i++){in[i]=oxi_saved_take(node,&node->saved[i],node->saved_output[i],run->create_graph);
if(!in[i])status=ox_error();}
context.gradients=g;context.saved=in;context.wants=wants;context.input_gradients=grad;context.user=node->user;
if(status==OX_OK)status=node->function->backward(&context);
if(status!=OX_OK&&ox_error()==OX_OK)
(void)oxi_fail(status,"backward: %s failed",oxi_node_name(node));
oxi_free(g,bytes);return status;}
OX_API void ox_set_detect_anomaly(bool detect){oxi_atomic_store(&oxi_detects_anomaly,detect);}
static ox_status oxi_check_gradient(const oxi_node*node,int i,ox_tensor*g){if(!oxi_atomic_load(&oxi_detects_anomaly)||!g)return OX_OK;
ox_tensor*any=ox_any(ox_isnan(g),OX_ALL_DIMS,false);if(!any)return ox_error();
if(ox_item(any)==0)return OX_OK;
return oxi_fail(OX_ERR_ARG,"backward: %s gave NaN as the gradient of operand %d, %s",oxi_node_name(node),i+1,oxi_tensor_text(g));}
static ox_status oxi_bring_all(oxi_pass*run,oxi_node*node,const bool*wants,ox_tensor**grad){ox_status status=OX_OK;
for(int i=0;i<node->in_count&&status==OX_OK;i++){if(!wants[i])continue;
status=oxi_check_gradient(node,i,grad[i]);if(status==OX_OK)status=oxi_bring(run,&node->edges[i],&node->operand[i],grad[i]);}
return status;}
static bool oxi_came(const oxi_node*node,const oxi_sum*sums){bool came=false;for(int k=0;k<node->out_count;k++)came=came||sums[k].sum;
return came;}
static ox_status oxi_run_watchers(const oxi_node*node,const oxi_sum*sums,const bool*wants,ox_tensor**grad){
size_t bytes=(size_t)node->out_count*sizeof(ox_tensor*);ox_tensor**g=(ox_tensor**)oxi_alloc(bytes);ox_status status=g?OX_OK:OX_ERR_NOMEM;
for(int k=0;k<node->out_count&&g;k++)g[k]=sums[k].sum;
for(int i=0;i<node->in_count&&status==OX_OK;i++)
if(wants[i]&&grad[i]&&!(grad[i]=oxi_fit_gradient(grad[i],&node->operand[i])))
status=ox_error();
for(const oxi_hook*hook=node->watchers;hook&&status==OX_OK;hook=hook->next){
status=hook->operation(grad,node->in_count,g,node->out_count,hook->user);if(status!=OX_OK&&ox_error()==OX_OK)
(void)oxi_fail(status,"backward: a hook of %s failed",oxi_node_name(node));}
oxi_free(g,bytes);for(int i=0;i<node->in_count&&status==OX_OK;i++)
if(wants[i]&&grad[i]&&!oxi_same_as_outline(grad[i],&node->operand[i]))
status=oxi_fail(OX_ERR_SHAPE,"backward: a hook of %s made %s of a gradient of operand %d",
oxi_node_name(node),oxi_tensor_text(grad[i]),i+1);
return status;}
static ox_status oxi_run_any_node(oxi_pass*run,oxi_node*node,oxi_sum*sums){
int room=node->in_count>node->saved_count?node->in_count:node->saved_count;
size_t each=2*sizeof(ox_tensor*)+sizeof(bool),bytes=(size_t)room*each;
ox_tensor**in=(ox_tensor**)oxi_calloc((size_t)room,each),**grad=in+room;bool*wants=(bool*)(grad+room);ox_status status=OX_OK;
if(!in)return OX_ERR_NOMEM;
for(int i=0;i<node->in_count;i++)wants[i]=oxi_edge_is_needed(run,&node->edges[i]);
if(oxi_came(node,sums)){if(node->released)
status=oxi_fail(OX_ERR_ARG,"backward: what %s saved is gone after the first backward; ""retain_graph keeps it",oxi_node_name(node));
else if(node->kind==OXI_NODE_CALL)
status=oxi_run_call(run,node,sums,wants,in,grad);
else if(node->kind==OXI_NODE_PUT_BACK)
status=oxi_run_put_back(node,sums[0].sum,wants,grad);
else
status=oxi_run_custom(run,node,sums,wants,in,grad);}
if(status==OX_OK&&node->watchers)status=oxi_run_watchers(node,sums,wants,grad);
if(status==OX_OK)status=oxi_bring_all(run,node,wants,grad);
oxi_free(in,bytes);return status;}
static ox_status oxi_run_node(oxi_pass*run,oxi_node*node,const oxi_task*task){oxi_sum*sums=&run->g[task->first];ox_status status=OX_OK;
for(int k=0;k<node->out_count&&status==OX_OK;k++){status=oxi_run_hooks(&sums[k],node->hooks[k]);
if(status==OX_OK&&node->keeper[k])
status=oxi_keep_gradient(run,node->keeper[k],&sums[k]);}
if(status!=OX_OK||!task->needed)return status;
status=oxi_run_any_node(run,node,sums);if(status==OX_OK&&!run->retain_graph)oxi_node_forget(node);
return status;}
static void oxi_run_end(oxi_pass*run){for(int i=0;i<run->count;i++)oxi_counted_drop(run->tasks[i].what);
for(int i=0;i<run->g_count;i++)ox_release(run->g[i].sum);
oxi_free(run->tasks,run->room*sizeof*run->tasks);oxi_free(run->g,run->g_room*sizeof*run->g);
oxi_free(run->places,(size_t)run->place_room*sizeof*run->places);oxi_free(run->ready,(size_t)run->count*sizeof*run->ready);}
static void oxi_release_gradients(oxi_pass*run,const oxi_task*task){int outputs=task->what->is_node?((oxi_node*)task->what)->out_count:1;
for(int k=0;k<outputs;k++){oxi_sum*sum=&run->g[task->first+k];
if(sum->wanted)continue;
ox_release(sum->sum);sum->sum=NULL;}}
static ox_status oxi_pass_run(oxi_pass*run){ox_status status=OX_OK;while(run->ready_count&&status==OX_OK){
oxi_task*task=&run->tasks[oxi_ready_take(run)];ox_scope scope=ox_scope_begin();
status=task->what->is_node?oxi_run_node(run,(oxi_node*)task->what,task):oxi_run_leaf(run,(oxi_tape*)task->what,task);
oxi_release_gradients(run,task);ox_scope_end(&scope);}
return status;}
static ox_tensor*oxi_first_gradient(ox_tensor*t,ox_tensor*given){if(given){if(oxi_same_sizes(given,t,-1))return given;
return OXI_FAIL_NULL(OX_ERR_SHAPE,"backward: the gradient %s of a result %s",oxi_tensor_text(given),oxi_tensor_text(t));}
if(ox_numel(t)!=1)
return OXI_FAIL_NULL(OX_ERR_ARG,"backward: %s has %lld elements and no gradient was given",oxi_tensor_text(t),(long long)ox_numel(t));
return oxi_full("ones",ox_shape_of(t),1,t->dtype,oxi_working_device(ox_device_of(t)));}
static ox_status oxi_variable_edge(const char*name,ox_tensor*t,oxi_edge*edge){memset(edge,0,sizeof*edge);
ox_status status=t->tape?oxi_tape_edge((oxi_tape*)t->tape,edge):OX_OK;if(status!=OX_OK||oxi_edge_is(edge))return status;
return oxi_fail(OX_ERR_ARG,"%s: %s wants no gradient, and nothing was recorded that it came from",name,oxi_tensor_text(t));}
static ox_status oxi_run_prepare(oxi_pass*run,const oxi_edge*roots,int root_count,const oxi_edge*wanted,int wanted_count){
ox_status status=OX_OK;for(int i=0;i<root_count;i++)
if(oxi_task_of_edge(run,&roots[i])<0)return OX_ERR_NOMEM;
status=oxi_find_tasks(run);run->reached=run->count;for(int i=0;i<wanted_count&&status==OX_OK;i++){
int task=oxi_task_of_edge(run,&wanted[i]);if(task<0)return OX_ERR_NOMEM;
oxi_sum_of_edge(run,task,&wanted[i])->wanted=true;}
if(status==OX_OK)status=oxi_mark_needed(run);
if(status!=OX_OK)return status;
oxi_count_pending(run);for(int i=0;i<root_count;i++)run->tasks[oxi_task_of_edge(run,&roots[i])].pending++;
run->ready=(int*)oxi_alloc((size_t)run->count*sizeof*run->ready);return run->ready?OX_OK:OX_ERR_NOMEM;}
static OXI_THREAD_LOCAL oxi_checkpoint**oxi_filled;
static ox_status oxi_run_from(oxi_pass*run,ox_tensor*const*results,const oxi_edge*roots,int count,ox_tensor*const*gradients){
ox_status status=OX_OK;bool off=oxi_grad_off;oxi_checkpoint*filled=NULL,**outside=oxi_filled;
oxi_grad_off=!run->create_graph||oxi_inference_mode;oxi_filled=&filled;for(int i=0;i<count&&status==OX_OK;i++){oxi_outline outline;
ox_scope scope=ox_scope_begin();ox_tensor*g=oxi_first_gradient(results[i],gradients?gradients[i]:NULL);
oxi_outline_of(results[i],&outline);status=g?oxi_bring(run,&roots[i],&outline,g):ox_error();ox_scope_end(&scope);}
if(status==OX_OK)status=oxi_pass_run(run);
oxi_grad_off=off;oxi_filled=outside;oxi_checkpoints_empty(filled);return status;}
/* >>autograd/functions.c */
OX_API ox_tensor*ox_requires_grad_(ox_tensor*t,bool requires_grad){oxi_edge edge={NULL,0,NULL};
if(oxi_any_null("requires_grad_",&t,1))return NULL;
if(!requires_grad&&!t->tape)return t;
if(!oxi_has_gradients(t->dtype))
return OXI_FAIL_NULL(OX_ERR_DTYPE,"requires_grad_: %s has no gradient, only floats and c64 have",oxi_tensor_text(t));
if(t->storage->inference&&requires_grad&&!oxi_inference_mode)
return OXI_FAIL_NULL(OX_ERR_ARG,"requires_grad_: %s is an inference tensor; ox_clone gives a plain one",oxi_tensor_text(t));
oxi_tape*tape=oxi_tape_of(t);if(!tape||oxi_start_recording("requires_grad_")!=OX_OK||oxi_tape_edge(tape,&edge)!=OX_OK)
return NULL;
if(edge.node&&!requires_grad)
return OXI_FAIL_NULL(OX_ERR_ARG,"requires_grad_: %s is a result; ox_detach gives one without a gradient",oxi_tensor_text(t));
if(!edge.node)tape->requires_grad=requires_grad;
return t;}
static oxi_edge oxi_edge_of(const ox_tensor*t){oxi_edge edge={NULL,0,NULL};
if(t&&t->tape&&oxi_tape_edge((oxi_tape*)t->tape,&edge)!=OX_OK)memset(&edge,0,sizeof edge);
return edge;}
OX_API bool ox_requires_grad(const ox_tensor*t){oxi_edge edge=oxi_edge_of(t);return oxi_edge_is(&edge);}
OX_API bool ox_is_leaf(const ox_tensor*t){return!oxi_edge_of(t).node;}
OX_API ox_tensor*ox_detach(ox_tensor*t){oxi_attrs attr=oxi_attrs_sizes();if(oxi_any_null("detach",&t,1))return NULL;
attr.sizes.shape=ox_shape_of(t);oxi_call call=oxi_call_of(OXI_OP_view,&t,1,NULL);call.attr=attr;call.name="detach";
if(oxi_apply_quiet(&call)!=OX_OK)return NULL;
call.out[0]->is_number=t->is_number;return call.out[0];}
OX_API ox_tensor*ox_gradient(ox_tensor*t){return t&&t->tape?((oxi_tape*)t->tape)->gradient:NULL;}
OX_API ox_status ox_set_gradient(ox_tensor*t,ox_tensor*gradient){if(oxi_any_null("set_gradient",&t,1))return ox_error();
if(!gradient&&!t->tape)return OX_OK;
if(gradient&&!oxi_same_sizes(gradient,t,-1))
return oxi_fail(OX_ERR_SHAPE,"set_gradient: the gradient %s of %s",oxi_tensor_text(gradient),oxi_tensor_text(t));
if(gradient&&(gradient->dtype!=t->dtype||!oxi_has_gradients(t->dtype)))
return oxi_fail(OX_ERR_DTYPE,"set_gradient: the gradient %s of %s",oxi_tensor_text(gradient),oxi_tensor_text(t));
oxi_tape*tape=oxi_tape_of(t);if(!tape)return OX_ERR_NOMEM;
ox_retain(gradient);ox_release(tape->gradient);tape->gradient=gradient;return OX_OK;}
OX_API ox_status ox_retain_gradient(ox_tensor*t){if(oxi_any_null("retain_gradient",&t,1))return ox_error();
oxi_edge edge;ox_status status=oxi_variable_edge("retain_gradient",t,&edge);
if(status==OX_OK&&edge.node)edge.node->keeper[edge.output]=(oxi_tape*)t->tape;
return status;}
OX_API bool ox_is_grad_enabled(void){return!oxi_grad_off;}
OX_API bool ox_set_grad_enabled(bool enabled){bool before=!oxi_grad_off;oxi_grad_off=!enabled||oxi_inference_mode;return before;}
OX_API ox_grad_scope ox_grad_scope_begin(bool enabled){ox_grad_scope scope;scope.previous=ox_set_grad_enabled(enabled);scope.open=true;
return scope;}
OX_API void ox_grad_scope_end(ox_grad_scope*scope){if(scope&&scope->open)(void)ox_set_grad_enabled(scope->previous);
if(scope)scope->open=false;}
OX_API bool ox_is_inference_mode_enabled(void){return oxi_inference_mode;}
OX_API bool ox_is_inference(const ox_tensor*t){return t&&t->storage->inference;}
OX_API ox_inference_scope ox_inference_scope_begin(bool enabled){ox_inference_scope scope;scope.previous=oxi_inference_mode;
scope.grad=!oxi_grad_off;scope.open=true;oxi_inference_mode=oxi_grad_off=enabled;return scope;}
OX_API void ox_inference_scope_end(ox_inference_scope*scope){if(!scope||!scope->open)return;
oxi_inference_mode=scope->previous;oxi_grad_off=!scope->grad;scope->open=false;}
static oxi_hook**oxi_hooks_of(const char*name,ox_tensor*t){oxi_edge edge;
if(oxi_any_null(name,&t,1)||oxi_variable_edge(name,t,&edge)!=OX_OK)return NULL;
return edge.node?&edge.node->hooks[edge.output]:&edge.leaf->hooks;}
static oxi_hook*oxi_hook_add(ox_tensor*t,oxi_hook**list,void*user){static int64_t numbers;oxi_tape*tape=(oxi_tape*)t->tape;
oxi_hook*hook=(oxi_hook*)oxi_calloc(1,sizeof*hook);if(!hook)return NULL;
hook->number=oxi_atomic_add(&numbers,1);hook->user=user;hook->list=list;hook->tape=tape;hook->sibling=tape->registered;
tape->registered=hook;while(*list)list=&(*list)->next;
*list=hook;return hook;}
OX_API int64_t ox_register_hook(ox_tensor*t,ox_gradient_hook change,void*user){oxi_hook**list=oxi_hooks_of("register_hook",t),*hook;
if(list&&!change)(void)oxi_fail(OX_ERR_ARG,"register_hook: no function");
if(!list||!change||!(hook=oxi_hook_add(t,list,user)))return 0;
hook->change=change;return hook->number;}
OX_API int64_t ox_register_accumulated_hook(ox_tensor*leaf,ox_accumulated_hook accumulated,void*user){
oxi_hook**list=oxi_hooks_of("register_accumulated_hook",leaf),*hook;if(!list)return 0;
if(!accumulated||!ox_is_leaf(leaf)){(void)oxi_fail(OX_ERR_ARG,"register_accumulated_hook: %s",
accumulated?"a result adds no gradients up, only leaves do":"no function");
return 0;}
ox_tensor*header=oxi_plain_header(leaf);hook=header?oxi_hook_add(leaf,list,user):NULL;if(!hook){ox_release(header);
return 0;}
hook->accumulated=accumulated;hook->header=header;return hook->number;}
OX_API int64_t ox_register_operation_hook(ox_tensor*t,ox_operation_hook operation,void*user){const char*name="register_operation_hook";
oxi_edge edge;if(oxi_any_null(name,&t,1)||oxi_variable_edge(name,t,&edge)!=OX_OK)return 0;
if(!operation||!edge.node){(void)oxi_fail(OX_ERR_ARG,"%s: %s",name,operation?"a leaf comes from no operation":"no function");
return 0;}
oxi_hook*hook=oxi_hook_add(t,&edge.node->watchers,user);if(!hook)return 0;
hook->operation=operation;return hook->number;}
static void oxi_hook_remove(oxi_hook*hook){oxi_hook**list=hook->list;while(*list!=hook)list=&(*list)->next;
*list=hook->next;hook->next=NULL;oxi_hooks_free(hook);}
OX_API void ox_remove_hook(ox_tensor*t,int64_t number){
for(oxi_tape*tape=t?(oxi_tape*)t->tape:NULL;tape;tape=tape->became?tape->parent:NULL)
for(oxi_hook*hook=tape->registered;hook;hook=hook->sibling)
if(hook->number==number){oxi_hook_remove(hook);
return;}}
static oxi_edge*oxi_edges_of_list(const char*name,ox_tensor*const*list,int count){oxi_edge*edges=NULL;if(count<0||(count>0&&!list)){
(void)oxi_fail(OX_ERR_ARG,"%s: %d tensors",name,count);return NULL;}
if(oxi_any_null(name,list,count))return NULL;
edges=(oxi_edge*)oxi_calloc((size_t)count+1,sizeof*edges);for(int i=0;edges&&i<count;i++)
if(oxi_variable_edge(name,list[i],&edges[i])!=OX_OK){oxi_free(edges,((size_t)count+1)*sizeof*edges);
return NULL;}
return edges;}
static void oxi_edges_free(oxi_edge*edges,int count){if(edges)oxi_free(edges,((size_t)count+1)*sizeof*edges);}
static ox_status oxi_keep_wanted(oxi_pass*run,ox_tensor*const*inputs,const oxi_edge*wanted,int count){ox_status status=OX_OK;
ox_scope scope=ox_scope_begin();for(int i=0;i<count&&status==OX_OK;i++){
if(!wanted[i].node||wanted[i].node->keeper[wanted[i].output])continue;
oxi_sum*sum=oxi_sum_of_edge(run,oxi_task_of_edge(run,&wanted[i]),&wanted[i]);
status=oxi_keep_gradient(run,(oxi_tape*)inputs[i]->tape,sum);ox_release(sum->sum);sum->sum=NULL;}
ox_scope_end(&scope);return status;}
static ox_status oxi_backward_from(const char*name,ox_tensor*const*results,ox_tensor*const*gradients,
int count,const ox_backward_desc*desc){oxi_pass run;
oxi_edge*wanted=NULL,*roots=oxi_edges_of_list(name,results,count);int wanted_count=desc&&desc->inputs?desc->input_count:0;
memset(&run,0,sizeof run);if(!roots)return ox_error()!=OX_OK?ox_error():OX_ERR_NOMEM;
run.create_graph=desc&&desc->create_graph;run.retain_graph=desc&&(desc->retain_graph||desc->create_graph);run.keeps=true;
run.only=desc&&desc->inputs;if(run.only)wanted=oxi_edges_of_list(name,desc->inputs,wanted_count);
ox_status status=run.only&&!wanted?OX_ERR_NOMEM:oxi_run_prepare(&run,roots,count,wanted,wanted_count);
if(status==OX_OK)status=oxi_run_from(&run,results,roots,count,gradients);
if(status==OX_OK)status=oxi_keep_wanted(&run,desc?desc->inputs:NULL,wanted,wanted_count);
oxi_run_end(&run);oxi_edges_free(roots,count);oxi_edges_free(wanted,wanted_count);
return status!=OX_OK&&ox_error()!=OX_OK?ox_error():status;}
OX_API ox_status ox_backward(ox_tensor*t,const ox_backward_desc*desc){if(oxi_any_null("backward",&t,1))return ox_error();
bool speaks=oxi_speak("backward");ox_status status=oxi_backward_from("backward",&t,desc?&desc->gradient:NULL,1,desc);
oxi_speak_end(speaks);return status;}
static ox_status oxi_take_gradients(oxi_pass*run,const oxi_edge*wanted,int count,bool allow_unused,
ox_tensor*const*inputs,ox_tensor**grads){for(int i=0;i<count;i++){
ox_tensor*g=oxi_sum_of_edge(run,oxi_task_of_edge(run,&wanted[i]),&wanted[i])->sum;if(!g&&!allow_unused)
return oxi_fail(OX_ERR_ARG,"grad: the outputs do not depend on input %d, %s; allow_unused gives NULL",i+1,oxi_tensor_text(inputs[i]));
if(g&&!(grads[i]=oxi_same_again(g)))return ox_error();}
return OX_OK;}
OX_API ox_status ox_grad(ox_tensor*const*outputs,int output_count,ox_tensor*const*inputs,
int input_count,const ox_grad_desc*desc,ox_tensor**grads){ox_grad_desc plain;
oxi_pass run;ox_status status=OX_ERR_NOMEM;memset(&plain,0,sizeof plain);memset(&run,0,sizeof run);if(!desc)desc=&plain;
if(!grads&&input_count>0)return oxi_fail(OX_ERR_ARG,"grad: no room for %d gradients",input_count);
for(int i=0;i<input_count;i++)grads[i]=NULL;
oxi_edge*roots=oxi_edges_of_list("grad",outputs,output_count);oxi_edge*wanted=roots?oxi_edges_of_list("grad",inputs,input_count):NULL;
if(!wanted&&ox_error()!=OX_OK)status=ox_error();
run.create_graph=desc->create_graph;run.retain_graph=desc->retain_graph||desc->create_graph;run.only=true;bool speaks=oxi_speak("grad");
if(wanted)status=oxi_run_prepare(&run,roots,output_count,wanted,input_count);
if(wanted&&status==OX_OK)status=oxi_run_from(&run,outputs,roots,output_count,desc->gradients);
if(wanted&&status==OX_OK)
status=oxi_take_gradients(&run,wanted,input_count,desc->allow_unused,inputs,grads);
for(int i=0;i<input_count&&status!=OX_OK;i++){ox_release(grads[i]);
grads[i]=NULL;}
oxi_run_end(&run);oxi_edges_free(roots,output_count);oxi_edges_free(wanted,input_count);oxi_speak_end(speaks);return status;}
/* >>autograd/custom.c */
static int oxi_output_of(const ox_tensor*t,ox_tensor*const*outputs,int count){for(int i=0;i<count;i++)
if(outputs[i]==t)return i;
return-1;}
static ox_status oxi_custom_saves(oxi_node*node,ox_tensor*const*outputs,ox_tensor*const*saved){ox_status status=OX_OK;
for(int i=0;i<node->saved_count&&status==OX_OK;i++){oxi_edge edge={NULL,0,NULL};
oxi_saves(-1,i);node->saved_output[i]=oxi_output_of(saved[i],outputs,node->out_count);if(node->saved_output[i]<0&&saved[i]->tape)
status=oxi_tape_edge((oxi_tape*)saved[i]->tape,&edge);
if(status==OX_OK)
status=oxi_save_tensor(&node->saved[i],saved[i],oxi_atomic_load(&saved[i]->storage->version),&edge);}
return status;}
static ox_status oxi_custom_inputs(oxi_node*node,ox_tensor*const*inputs,bool*wants){ox_status status=OX_OK;*wants=false;
for(int i=0;i<node->in_count&&status==OX_OK;i++){oxi_edge edge={NULL,0,NULL};
oxi_outline_of(inputs[i],&node->operand[i]);if(inputs[i]->tape&&oxi_has_gradients(inputs[i]->dtype))
status=oxi_tape_edge((oxi_tape*)inputs[i]->tape,&edge);
node->edges[i]=oxi_edge_copy(&edge);*wants=*wants||oxi_edge_is(&edge);}
return status;}
static ox_status oxi_custom_outputs(oxi_node*node,ox_tensor*const*outputs){for(int k=0;k<node->out_count;k++){
oxi_edge edge={node,k,NULL};oxi_outline_of(outputs[k],&node->result[k]);
if(outputs[k]->tape)oxi_counted_drop((oxi_counted*)outputs[k]->tape);
outputs[k]->tape=NULL;if(oxi_has_gradients(outputs[k]->dtype)&&oxi_attach(outputs[k],&edge)!=OX_OK)
return OX_ERR_NOMEM;}
return OX_OK;}
static ox_status oxi_check_function(const ox_function*function,ox_tensor*const*inputs,int input_count,
ox_tensor*const*outputs,int output_count,ox_tensor*const*saved,int saved_count){const char*name="attach_function";
if(!function||!function->backward)return oxi_fail(OX_ERR_ARG,"%s: no function",name);
if(input_count<0||output_count<1||saved_count<0)
return oxi_fail(OX_ERR_ARG,"%s: %d inputs, %d outputs, %d saved",name,input_count,output_count,saved_count);
if(oxi_any_null(name,inputs,input_count)||oxi_any_null(name,outputs,output_count)||oxi_any_null(name,saved,saved_count))
return ox_error();
for(int k=0;k<output_count;k++){const oxi_tape*tape=(const oxi_tape*)outputs[k]->tape;
bool view=tape&&tape->parent&&tape->unrecorded&&!tape->made.node&&!tape->requires_grad;
if((tape&&!view)||oxi_output_of(outputs[k],outputs,k)>=0)
return oxi_fail(OX_ERR_ARG,"%s: output %d is recorded already; compute it under OX_NO_GRAD ""(ox_detach of an input)",name,k+1);}
return OX_OK;}
OX_API ox_status ox_attach_function(const ox_function*function,void*user,ox_tensor*const*inputs,
int input_count,ox_tensor*const*outputs,int output_count,ox_tensor*const*saved,int saved_count){bool wants=false;
ox_status status=oxi_check_function(function,inputs,input_count,outputs,output_count,saved,saved_count);oxi_node*node=NULL;
if(status==OX_OK){node=oxi_node_new(OXI_NODE_CUSTOM,input_count,output_count,saved_count);
if(!node)status=OX_ERR_NOMEM;}
if(!node){if(function&&function->drop)function->drop(user);
return status;}
node->function=function;node->user=user;status=oxi_custom_inputs(node,inputs,&wants);wants=wants&&!oxi_grad_off;
if(status==OX_OK&&wants)status=oxi_custom_saves(node,outputs,saved);
if(status==OX_OK&&wants)status=oxi_custom_outputs(node,outputs);
oxi_counted_drop(&node->counted);return status;}
/* >>autograd/checkpoint.c */
typedef struct oxi_recalled{oxi_outline outline;ox_tensor*tensor;int64_t version;int what;}oxi_recalled;typedef struct oxi_modes{
ox_device*device;ox_dtype dtype;bool exact,grad_off,inference;}oxi_modes;struct oxi_checkpoint{int64_t references;ox_saved_hooks hooks;
ox_checkpoint_function function;void*user;oxi_saved*saved;bool*leaf,*result;ox_tensor**in,**out;int in_count,out_count;
oxi_random_state*drawn;
int drawn_count,drawn_again;size_t drawn_room;oxi_checkpoint*outside;oxi_modes modes;int64_t since;oxi_recalled*places;int count,filled;
size_t room;bool again,runs;ox_status status;oxi_checkpoint*next,**link;size_t bytes;};
static oxi_modes oxi_modes_set(const oxi_modes*to){
oxi_modes before={oxi_thread_device,oxi_thread_dtype,oxi_exact,oxi_grad_off,oxi_inference_mode};if(!to)return before;
oxi_thread_device=to->device;oxi_thread_dtype=to->dtype;oxi_exact=to->exact;oxi_grad_off=to->grad_off;oxi_inference_mode=to->inference;
return before;}
static void oxi_recalled_empty(oxi_recalled*place){ox_release(place->tensor);place->tensor=NULL;}
static void oxi_checkpoints_empty(oxi_checkpoint*list){for(oxi_checkpoint*c=list,*next;c;c=next){next=c->next;
c->link=NULL;for(int i=0;i<c->count;i++)oxi_recalled_empty(&c->places[i]);}}
static void oxi_checkpoint_drop(void*packed,void*user){oxi_checkpoint*c=(oxi_checkpoint*)user;oxi_counted*dead=NULL;(void)packed;
if(--c->references>0)return;
if(c->link)*c->link=c->next;
if(c->link&&c->next)c->next->link=c->link;
for(int i=0;i<c->in_count;i++)oxi_saved_drop(&c->saved[i],&dead);
for(int i=0;i<c->count;i++)oxi_recalled_empty(&c->places[i]);
oxi_free(c->places,c->room*sizeof*c->places);oxi_free(c->drawn,c->drawn_room*sizeof*c->drawn);oxi_free(c,c->bytes);}
static ox_status oxi_recalled_check(const oxi_checkpoint*c,int at,const ox_tensor*t){const oxi_recalled*place=&c->places[at];
bool same=oxi_atomic_load(&t->storage->version)==place->version;for(int i=0;i<c->in_count;i++)same=same||c->in[i]->storage==t->storage;
if(place->outline.dtype!=t->dtype||!oxi_same_as_outline(t,&place->outline))
return oxi_fail(OX_ERR_ARG,"checkpoint: run again, a checkpoint saves %s as number %d, not %s%s",
oxi_tensor_text(t),at+1,ox_dtype_name(place->outline.dtype),oxi_shape_text(place->outline.ndim,place->outline.shape));
if(place->what!=oxi_saving)
return oxi_fail(OX_ERR_ARG,"checkpoint: run again, a checkpoint saves %s as number %d for another "
"call, or operand (since something wants a gradient that did not, or does not any ""more?)",oxi_tensor_text(t),at+1);
if(!same)
return oxi_fail(OX_ERR_ARG,"checkpoint: %s, which a checkpoint uses, was changed in place since",oxi_tensor_text(t));
return OX_OK;}
static void*oxi_checkpoint_pack(ox_tensor*t,void*user){oxi_checkpoint*c=(oxi_checkpoint*)user;int at=c->filled;oxi_recalled*place;
if(c->again){c->filled++;
if(at>=c->count)return NULL;
if(c->status==OX_OK)c->status=oxi_recalled_check(c,at,t);
place=&c->places[at];}else{void*places=oxi_grow(c->places,&c->room,(size_t)at+1,sizeof*place,false);
if(!places)c->status=OX_ERR_NOMEM;
if(!places)return NULL;
c->places=(oxi_recalled*)places;place=&c->places[at];memset(place,0,sizeof*place);oxi_outline_of(t,&place->outline);
place->what=oxi_saving;c->filled=c->count=at+1;c->references++;}
if(!place->tensor){place->tensor=ox_retain(t);
place->version=oxi_atomic_load(&t->storage->version);}
return c->again?NULL:(void*)(intptr_t)(at+1);}
static OXI_THREAD_LOCAL oxi_checkpoint*oxi_checkpoint_running;static oxi_random_state oxi_checkpoint_draw(oxi_checkpoint*c){
oxi_random_state state=oxi_no_random_state();
if(!c)return oxi_draw_random_state();
if(c->again)return c->drawn_again++<c->drawn_count?c->drawn[c->drawn_again-1]:state;
state=oxi_checkpoint_draw(c->outside);void*drawn=oxi_grow(c->drawn,&c->drawn_room,(size_t)c->drawn_count+1,sizeof state,false);
if(!drawn)c->status=OX_ERR_NOMEM;
if(!drawn)return state;
c->drawn=(oxi_random_state*)drawn;
c->drawn[c->drawn_count++]=state;return state;}
static oxi_random_state oxi_checkpoint_random(void){return oxi_checkpoint_draw(oxi_checkpoint_running);}
static ox_status oxi_checkpoint_run(oxi_checkpoint*c,ox_tensor**out){const ox_saved_hooks*hooks=oxi_saved_hooks;
int64_t since=oxi_checkpoint_since;bool again=oxi_random_again;
c->outside=oxi_checkpoint_running;oxi_checkpoint_running=c;oxi_random_source=oxi_checkpoint_random;
oxi_random_again=again||c->again;
oxi_saved_hooks=&c->hooks;oxi_checkpoint_since=c->since;c->filled=c->drawn_again=0;c->status=OX_OK;c->runs=true;
ox_status status=c->function(c->in,out,c->user);c->runs=false;c->again=true;oxi_checkpoint_since=since;oxi_saved_hooks=hooks;
oxi_random_again=again;
oxi_checkpoint_running=c->outside;if(!c->outside)oxi_random_source=NULL;
return status==OX_OK?c->status:status;}
static ox_status oxi_checkpoint_input(const oxi_checkpoint*c,int i){
ox_tensor*t=c->in[i]=oxi_saved_plain(&c->saved[i],"checkpoint",false);if(!t)return ox_error();
if(c->leaf[i])return ox_requires_grad_(t,true)?OX_OK:ox_error();
if(!c->result[i])return OX_OK;
oxi_edge edge={oxi_node_new(OXI_NODE_CALL,0,1,0),0,NULL};if(!edge.node)return OX_ERR_NOMEM;
edge.node->call.name="checkpoint";oxi_outline_of(t,&edge.node->result[0]);ox_status status=oxi_attach(t,&edge);oxi_edge_drop(&edge);
return status;}
static ox_status oxi_checkpoint_run_again(oxi_checkpoint*c){ox_status status=OX_OK;oxi_modes modes=oxi_modes_set(&c->modes);
memset(c->out,0,(size_t)c->out_count*sizeof*c->out);for(int i=0;i<c->in_count&&status==OX_OK;i++)status=oxi_checkpoint_input(c,i);
if(status==OX_OK)status=oxi_checkpoint_run(c,c->out);
(void)oxi_modes_set(&modes);if(status==OX_OK&&c->drawn_again!=c->drawn_count)
status=oxi_fail(OX_ERR_ARG,"checkpoint: run again, a checkpoint makes %d random calls, not %d",c->drawn_again,c->drawn_count);
if(status==OX_OK&&c->filled!=c->count)
status=oxi_fail(OX_ERR_ARG,"checkpoint: run again, a checkpoint saves %d tensors, not %d",c->filled,c->count);
return status;}
static ox_status oxi_checkpoint_fill(oxi_checkpoint*c){if(!c->link){c->link=oxi_filled;
c->next=*oxi_filled;if(c->next)c->next->link=&c->next;
*oxi_filled=c;}
ox_scope scope=ox_scope_begin();ox_status status=oxi_checkpoint_run_again(c);ox_scope_end(&scope);if(status!=OX_OK&&ox_error()==OX_OK)
(void)oxi_fail(status,"checkpoint: run again, a checkpoint failed");
return status;}
static ox_tensor*oxi_checkpoint_unpack(void*packed,void*user){oxi_checkpoint*c=(oxi_checkpoint*)user;
oxi_recalled*place=&c->places[(intptr_t)packed-1];if(c->runs&&c->again)
return OXI_FAIL_NULL(OX_ERR_ARG,"checkpoint: a checkpoint needs gradients of itself");
c->references++;ox_tensor*t=NULL;if(place->tensor||oxi_checkpoint_fill(c)==OX_OK)
t=oxi_tensor_over(place->tensor->storage,place->tensor);
if(!c->runs)oxi_recalled_empty(place);
oxi_checkpoint_drop(NULL,c);return t;}
static int64_t oxi_saved_version(const oxi_saved*saved,const ox_tensor*now){if(!saved->packed)return saved->version;
if(saved->hooks->unpack!=oxi_checkpoint_unpack)return oxi_atomic_load(&now->storage->version);
return((const oxi_checkpoint*)saved->hooks->user)->places[(intptr_t)saved->packed-1].version;}
static oxi_checkpoint*oxi_checkpoint_new(ox_checkpoint_function function,void*user,int in_count,int out_count){
size_t bytes=sizeof(oxi_checkpoint);size_t saved=oxi_room_for(&bytes,in_count,sizeof(oxi_saved)),
flags=oxi_room_for(&bytes,in_count,2*sizeof(bool)),in=oxi_room_for(&bytes,in_count,sizeof(ox_tensor*)),
out=oxi_room_for(&bytes,out_count,sizeof(ox_tensor*));
char*block=(char*)oxi_calloc(1,bytes);if(!block)return NULL;
oxi_checkpoint*c=(oxi_checkpoint*)block;c->references=1;c->hooks.pack=oxi_checkpoint_pack;c->hooks.unpack=oxi_checkpoint_unpack;
c->hooks.drop=oxi_checkpoint_drop;c->hooks.user=c;c->function=function;c->user=user;c->saved=(oxi_saved*)(block+saved);
c->leaf=(bool*)(block+flags);c->result=c->leaf+in_count;c->in=(ox_tensor**)(block+in);c->out=(ox_tensor**)(block+out);
c->in_count=in_count;c->out_count=out_count;c->modes=oxi_modes_set(NULL);c->since=oxi_next_sequence();c->bytes=bytes;return c;}
static ox_status oxi_checkpoint_save_inputs(oxi_checkpoint*c){ox_status status=OX_OK;for(int i=0;i<c->in_count&&status==OX_OK;i++){
ox_tensor*t=c->in[i];oxi_edge edge={NULL,0,NULL};oxi_saves(-2,i);
if(t->tape&&oxi_has_gradients(t->dtype))status=oxi_tape_edge((oxi_tape*)t->tape,&edge);
c->leaf[i]=edge.leaf!=NULL;c->result[i]=edge.node!=NULL;if(status==OX_OK)
status=oxi_save_tensor(&c->saved[i],t,oxi_atomic_load(&t->storage->version),&edge);
oxi_edge_drop(&c->saved[i].edge);}
return status;}
static ox_status oxi_checkpoint_check_inputs(const oxi_checkpoint*c){for(int i=0;i<c->in_count&&c->count;i++)
if(oxi_atomic_load(&c->in[i]->storage->version)!=c->saved[i].version)
return oxi_fail(OX_ERR_ARG,"checkpoint: input %d, %s, is changed in place by the function, "
"which runs twice",i+1,oxi_tensor_text(c->in[i]));
return OX_OK;}
OX_API ox_status ox_checkpoint(ox_checkpoint_function function,void*user,ox_tensor*const*inputs,
int input_count,ox_tensor**outputs,int output_count){if(!function||!outputs||output_count<1||input_count<0||(input_count>0&&!inputs))
return oxi_fail(OX_ERR_ARG,"checkpoint: %s",function?"no outputs, or no inputs":"no function");
if(oxi_any_null("checkpoint",inputs,input_count))return ox_error();
oxi_checkpoint*c=oxi_checkpoint_new(function,user,input_count,output_count);if(!c)return OX_ERR_NOMEM;
if(input_count)memcpy(c->in,inputs,(size_t)input_count*sizeof*inputs);
for(int k=0;k<output_count;k++)outputs[k]=NULL;
ox_scope scope=ox_scope_begin();ox_status status=oxi_grad_off?OX_OK:oxi_checkpoint_save_inputs(c);if(status==OX_OK)
status=oxi_grad_off?function(c->in,outputs,user):oxi_checkpoint_run(c,outputs);
if(status==OX_OK)status=oxi_checkpoint_check_inputs(c);
for(int k=0;k<output_count;k++)
outputs[k]=status==OX_OK?ox_keep(outputs[k]):NULL;
for(int i=0;i<c->count;i++)oxi_recalled_empty(&c->places[i]);
ox_scope_end(&scope);oxi_checkpoint_drop(NULL,c);return status;}
/* >>autograd/functional.c */
typedef struct oxi_derivation{oxi_work work;bool enabled;int count;ox_tensor**leaf;ox_tensor*result;}oxi_derivation;
static void oxi_derivation_begin(oxi_derivation*d,const char*name,ox_checked_function function,
void*user,ox_tensor*const*inputs,int count){memset(d,0,sizeof*d);
d->enabled=ox_set_grad_enabled(true);d->count=count;d->work=oxi_work_begin(name);const char*wrong=!function?"no function"
:count<1?"no inputs":!ox_is_grad_enabled()?"nothing is recorded in inference mode":NULL;
if(wrong)(void)oxi_fail(OX_ERR_ARG,"%s: %s",name,wrong);
if(wrong||oxi_any_null(name,inputs,count))return;
d->leaf=(ox_tensor**)oxi_calloc((size_t)count,sizeof*d->leaf);bool fine=d->leaf!=NULL;for(int i=0;i<count&&fine;i++)
fine=(d->leaf[i]=ox_requires_grad_(ox_detach(inputs[i]),true))!=NULL;
d->result=fine?function(d->leaf,user):NULL;if(fine&&!d->result&&ox_error()==OX_OK)
(void)oxi_fail(OX_ERR_ARG,"%s: the function gave NULL",name);}
static ox_tensor*oxi_derivation_keep(ox_tensor*t){return t?ox_keep(ox_detach(t)):NULL;}
static ox_tensor*oxi_derivation_end(oxi_derivation*d,ox_tensor*made,ox_tensor**value){made=oxi_derivation_keep(made);
if(value)*value=made?oxi_derivation_keep(d->result):NULL;
if(d->leaf)oxi_free(d->leaf,(size_t)d->count*sizeof*d->leaf);
(void)oxi_work_end(&d->work,NULL);(void)ox_set_grad_enabled(d->enabled);return made;}
static ox_status oxi_leaf_gradients(ox_tensor*y,ox_tensor*const*leaf,int count,ox_tensor*vector,bool create_graph,ox_tensor**grads){
ox_grad_desc desc;memset(&desc,0,sizeof desc);desc.gradients=vector?&vector:NULL;desc.create_graph=create_graph;
desc.retain_graph=desc.allow_unused=true;for(int i=0;i<count;i++)grads[i]=NULL;
ox_status status=ox_requires_grad(y)?ox_grad(&y,1,leaf,count,&desc,grads):OX_OK;for(int i=0;i<count&&status==OX_OK;i++)
if(!grads[i]&&!(grads[i]=ox_zeros_like(leaf[i])))status=ox_error();
return status;}
OX_API ox_status ox_vjp(ox_checked_function function,void*user,ox_tensor*const*inputs,int input_count,
ox_tensor*vector,ox_tensor**products,ox_tensor**value){oxi_derivation d;
if(!products)return oxi_fail(OX_ERR_ARG,"vjp: no room for the products");
oxi_derivation_begin(&d,"vjp",function,user,inputs,input_count);ox_status status=
d.result?oxi_leaf_gradients(d.result,d.leaf,input_count,vector,false,products):ox_error();
for(int i=0;i<input_count;i++)
products[i]=status==OX_OK?oxi_derivation_keep(products[i]):NULL;
(void)oxi_derivation_end(&d,status==OX_OK?d.result:NULL,value);return status;}
OX_API ox_tensor*ox_jvp(ox_checked_function function,void*user,ox_tensor*const*inputs,int input_count,
ox_tensor*const*tangents,ox_tensor**value){oxi_derivation d;
ox_tensor*sum=NULL,*product;oxi_derivation_begin(&d,"jvp",function,user,inputs,input_count);
bool fine=d.result&&!oxi_any_null("jvp",tangents,input_count);for(int i=0;i<input_count&&fine;i++)
if(!oxi_same_sizes(tangents[i],inputs[i],-1)){
(void)oxi_fail(OX_ERR_SHAPE,"jvp: the tangent %s of input %d, %s",oxi_tensor_text(tangents[i]),i+1,oxi_tensor_text(inputs[i]));
fine=false;}
ox_tensor*u=fine?ox_requires_grad_(ox_zeros_like(ox_detach(d.result)),true):NULL;for(int i=0;i<input_count&&u;i++){ox_tensor*g=NULL;
if(oxi_leaf_gradients(d.result,&d.leaf[i],1,u,true,&g)!=OX_OK||oxi_leaf_gradients(g,&u,1,tangents[i],false,&product)!=OX_OK)
u=sum=NULL;
else
sum=sum?ox_add(sum,product):product;
if(!sum)break;}
return oxi_derivation_end(&d,u?sum:NULL,value);}
static ox_tensor*oxi_rows_of_gradients(ox_tensor*y,ox_tensor*leaf){int64_t dims[2*OX_MAX_DIMS],count=ox_numel(y);ox_tensor*g=NULL;
if(y->ndim+leaf->ndim>OX_MAX_DIMS)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"jacobian: %s by %s would have more than %d dims",
oxi_tensor_text(y),oxi_tensor_text(leaf),OX_MAX_DIMS);
memcpy(dims,y->shape,(size_t)y->ndim*sizeof*dims);memcpy(dims+y->ndim,leaf->shape,(size_t)leaf->ndim*sizeof*dims);
oxi_work work=oxi_work_begin("jacobian");ox_set_grad_enabled(false);ox_tensor*rows=ox_zeros_like(
ox_expand(ox_unsqueeze(ox_flatten(ox_detach(leaf),0,-1),0),OX_SHAPE(count,ox_numel(leaf))));
bool fine=rows!=NULL;for(int64_t i=0;i<count&&fine;i++)
OX_SCOPE{ox_tensor*one=ox_zeros(OX_SHAPE(count),y->dtype);
one=one?ox_to(one,ox_device_of(y)):NULL;fine=one&&ox_fill_(ox_select(one,0,i),1);one=fine?ox_reshape(one,ox_shape_of(y)):NULL;
fine=one&&oxi_leaf_gradients(y,&leaf,1,one,false,&g)==OX_OK&&ox_copy_(ox_select(rows,0,i),ox_flatten(g,0,-1));}
rows=fine?ox_reshape(rows,ox_shape_from(y->ndim+leaf->ndim,dims)):NULL;ox_set_grad_enabled(true);return oxi_work_end(&work,rows);}
static bool oxi_is_input(const char*name,int which,int count){if(which>=0&&which<count)return true;
(void)oxi_fail(OX_ERR_ARG,"%s: input %d of %d",name,which,count);return false;}
OX_API ox_tensor*ox_jacobian(ox_checked_function function,void*user,ox_tensor*const*inputs,int input_count,int which){oxi_derivation d;
oxi_derivation_begin(&d,"jacobian",function,user,inputs,input_count);ox_tensor*made=d.result&&oxi_is_input("jacobian",which,input_count)
?oxi_rows_of_gradients(d.result,d.leaf[which]):NULL;
return oxi_derivation_end(&d,made,NULL);}
OX_API ox_tensor*ox_hessian(ox_checked_function function,void*user,ox_tensor*const*inputs,int input_count,int first,int second){
oxi_derivation d;ox_tensor*g=NULL;oxi_derivation_begin(&d,"hessian",function,user,inputs,input_count);
bool fine=d.result&&oxi_is_input("hessian",first,input_count)&&oxi_is_input("hessian",second,input_count)&&
oxi_leaf_gradients(d.result,&d.leaf[first],1,NULL,true,&g)==OX_OK;
return oxi_derivation_end(&d,fine?oxi_rows_of_gradients(g,d.leaf[second]):NULL,NULL);}
/* >>autograd/gradcheck.c */
typedef struct oxi_gradcheck{ox_checked_function function;void*user;double eps,absolute,relative;
ox_tensor*weights;}oxi_gradcheck;static ox_tensor*oxi_as_reals(ox_tensor*t){return t&&t->dtype==OX_C64?ox_view_as_real(t):t;}
static ox_tensor*oxi_check_weights(const ox_tensor*y){ox_tensor*ramp=oxi_arange(0,(double)ox_numel(y),1,OX_F64,ox_cpu());
ox_tensor*spread=ox_add_number(ox_sin(ox_mul_number(ramp,1.7)),1.25);
spread=ox_cast(ox_reshape(spread,ox_shape_of(y)),y->dtype==OX_F64?OX_F64:OX_F32);
return ox_to(spread,oxi_working_device(ox_device_of(y)));}
static ox_tensor*oxi_weighted_sum(ox_tensor*y,ox_tensor**weights){y=oxi_as_reals(y);if(y&&!*weights)*weights=oxi_check_weights(y);
return y&&*weights?ox_sum(ox_mul(y,*weights),OX_ALL_DIMS,false):NULL;}
static ox_status oxi_check_value(oxi_gradcheck*c,ox_tensor*const*inputs,double*value){ox_scope scope=ox_scope_begin();
ox_tensor*sum=oxi_weighted_sum(c->function(inputs,c->user),&c->weights);*value=sum?ox_item(sum):0;ox_status status=sum?OX_OK:ox_error();
ox_scope_end(&scope);return status;}
static ox_tensor*oxi_number_at(ox_tensor*t,int64_t i){ox_tensor*at=oxi_as_reals(t);int64_t left=at?ox_numel(at):1;while(at&&at->ndim){
left/=at->shape[0];at=ox_select(at,0,i/left);i%=left;}
return at;}
static ox_status oxi_difference(oxi_gradcheck*c,ox_tensor*const*inputs,ox_tensor*x,int64_t i,double*out){double value[2]={0,0};
ox_status status=OX_OK;ox_scope scope=ox_scope_begin();ox_tensor*at=oxi_number_at(x,i),*before=at?ox_clone(at):NULL;
for(int side=0;side<2&&before&&status==OX_OK;side++){ox_tensor*moved=ox_add_number(before,side?-c->eps:c->eps);
status=moved&&ox_copy_(at,moved)?oxi_check_value(c,inputs,&value[side]):ox_error();}
if(!before||!ox_copy_(at,before))status=ox_error();
ox_scope_end(&scope);*out=(value[0]-value[1])/(2*c->eps);return status;}
static ox_status oxi_check_input(oxi_gradcheck*c,ox_tensor*const*inputs,int which,ox_tensor*gradient){
ox_tensor*g=oxi_as_reals(gradient),*x=inputs[which];ox_status status=OX_OK;for(int64_t i=0;i<ox_numel(g)&&status==OX_OK;i++){
double expected=0,got;
status=oxi_difference(c,inputs,x,i,&expected);if(status!=OX_OK)return status;
ox_scope scope=ox_scope_begin();got=ox_item(oxi_number_at(gradient,i));ox_scope_end(&scope);
if(!(fabs(got-expected)<=c->absolute+c->relative*fabs(expected)))
status=oxi_fail(OX_ERR_ARG,"gradcheck: number %lld of input %d, %s: the gradient is %.9g, ""differences give %.9g",
(long long)i,which+1,oxi_tensor_text(x),got,expected);}
return status;}
static ox_tensor*oxi_checked_gradient(oxi_gradcheck*c,ox_tensor*const*inputs,int which){ox_grad_desc desc;
ox_tensor*x=inputs[which],*g=NULL;memset(&desc,0,sizeof desc);desc.allow_unused=true;bool enabled=ox_set_grad_enabled(true);
ox_tensor*sum=oxi_weighted_sum(c->function(inputs,c->user),&c->weights);ox_retain(c->weights);
if(sum&&ox_requires_grad(sum)&&ox_grad(&sum,1,&x,1,&desc,&g)!=OX_OK)sum=NULL;
(void)ox_set_grad_enabled(enabled);return!sum?NULL:g?g:ox_zeros_like(x);}
static ox_status oxi_check_leaves(ox_tensor*const*inputs,int count){for(int i=0;i<count;i++){ox_dtype dtype=inputs[i]->dtype;
if(!ox_requires_grad(inputs[i]))continue;
if(!ox_is_leaf(inputs[i]))
return oxi_fail(OX_ERR_ARG,"gradcheck: input %d is no leaf: its numbers cannot be moved",i+1);
if(dtype!=OX_F64&&dtype!=OX_F32&&dtype!=OX_C64)
return oxi_fail(OX_ERR_DTYPE,"gradcheck: input %d is %s; differences want f64, f32 or c64",i+1,oxi_tensor_text(inputs[i]));}
return OX_OK;}
OX_API ox_status ox_gradcheck(ox_checked_function function,void*user,ox_tensor*const*inputs,
int input_count,const ox_gradcheck_desc*desc){oxi_gradcheck c;
memset(&c,0,sizeof c);if(!function)return oxi_fail(OX_ERR_ARG,"gradcheck: no function");
if(oxi_any_null("gradcheck",inputs,input_count))return ox_error();
c.function=function;c.user=user;c.eps=desc&&desc->eps>0?desc->eps:1e-6;c.absolute=desc&&desc->absolute>0?desc->absolute:1e-5;
c.relative=desc&&desc->relative>0?desc->relative:1e-3;ox_status status=oxi_check_leaves(inputs,input_count);
for(int i=0;i<input_count&&status==OX_OK;i++){if(!ox_requires_grad(inputs[i]))continue;
ox_scope scope=ox_scope_begin();ox_tensor*g=oxi_checked_gradient(&c,inputs,i);bool enabled=ox_set_grad_enabled(false);
status=g?oxi_check_input(&c,inputs,i,g):ox_error();(void)ox_set_grad_enabled(enabled);ox_release(c.weights);ox_scope_end(&scope);
c.weights=NULL;}
return status;}
typedef struct oxi_gradgradcheck{ox_checked_function function;void*user;int count;}oxi_gradgradcheck;
static ox_tensor*oxi_gradients_in_a_row(ox_tensor*const*inputs,void*user){const oxi_gradgradcheck*c=(const oxi_gradgradcheck*)user;
ox_tensor*row=NULL,*pair[2],*x,*g,*weights=inputs[c->count];ox_grad_desc desc;memset(&desc,0,sizeof desc);
desc.create_graph=desc.allow_unused=true;bool enabled=ox_set_grad_enabled(true);ox_tensor*y=c->function(inputs,c->user);
desc.gradients=&weights;for(int i=0;i<c->count&&y;i++){if(!ox_requires_grad(inputs[i]))continue;
x=inputs[i];if(ox_grad(&y,1,&x,1,&desc,&g)!=OX_OK)y=NULL;
if(!y||!g)continue;
pair[0]=row;pair[1]=ox_cast(ox_flatten(oxi_as_reals(g),0,-1),OX_F64);row=!row?pair[1]:ox_cat(pair,2,0);if(!row)y=NULL;}
(void)ox_set_grad_enabled(enabled);return!y?NULL:row?row:oxi_full("zeros",OX_SHAPE(1),0,OX_F64,ox_cpu());}
OX_API ox_status ox_gradgradcheck(ox_checked_function function,void*user,ox_tensor*const*inputs,
int input_count,const ox_gradcheck_desc*desc){oxi_gradgradcheck c;
size_t bytes=((size_t)(input_count>0?input_count:0)+1)*sizeof(ox_tensor*);
if(!function)return oxi_fail(OX_ERR_ARG,"gradgradcheck: no function");
if(oxi_any_null("gradgradcheck",inputs,input_count))return ox_error();
ox_tensor**all=(ox_tensor**)oxi_alloc(bytes);if(!all)return OX_ERR_NOMEM;
ox_scope scope=ox_scope_begin();c.function=function;c.user=user;c.count=input_count;for(int i=0;i<input_count;i++)all[i]=inputs[i];
ox_tensor*y=function(inputs,user),*spread=y?oxi_check_weights(oxi_as_reals(ox_detach(y))):NULL;
if(spread&&y->dtype==OX_C64)spread=ox_view_as_complex(spread);
all[input_count]=spread?ox_requires_grad_(ox_cast(spread,y->dtype),true):NULL;ox_status status=all[input_count]
?ox_gradcheck(oxi_gradients_in_a_row,&c,all,input_count+1,desc):ox_error();
ox_scope_end(&scope);oxi_free(all,bytes);return status;}
/* >>nn/tensors/joins.c */
static ox_tensor*oxi_atleast(ox_tensor*x,int ndim){ox_shape shape=ox_shape_of(x);if(x->ndim>=ndim)return oxi_same_again(x);
if(ndim==3&&x->ndim==2)return ox_unsqueeze(x,2);
if(ndim==3&&x->ndim==1)return ox_view(x,OX_SHAPE(1,shape.dim[0],1));
return ox_unsqueeze(ndim==1?x:oxi_atleast(x,ndim-1),0);}
OXI_MADE_1(atleast_1d,oxi_atleast(x,1))
OXI_MADE_1(atleast_2d,oxi_atleast(x,2))
OXI_MADE_1(atleast_3d,oxi_atleast(x,3))
static bool oxi_common_shape(const char*name,ox_tensor*const*list,int count,ox_shape*out){*out=oxi_no_shape();
for(int i=0;i<count;i++)
if(list[i]->ndim>out->ndim)out->ndim=list[i]->ndim;
for(int d=0;d<out->ndim;d++)out->dim[d]=1;
for(int i=0;i<count;i++)
for(int d=0;d<list[i]->ndim;d++){int64_t*size=&out->dim[out->ndim-list[i]->ndim+d],own=list[i]->shape[d];
if(*size==1)*size=own;
if(own==1||own==*size)continue;
(void)oxi_fail(OX_ERR_SHAPE,"%s: shapes do not broadcast: %s",name,oxi_tensor_text(list[i]));
return false;}
return true;}
static ox_tensor**oxi_list_new(int64_t count,size_t*bytes){if(count<0||!oxi_mul_size((size_t)count,sizeof(ox_tensor*),bytes))return NULL;
return(ox_tensor**)oxi_alloc(*bytes?*bytes:sizeof(ox_tensor*));}
static ox_tensor*oxi_joined(const char*name,ox_tensor*const*list,int count,int ndim,int dim,bool columns){size_t bytes;
if(count<1)return OXI_FAIL_NULL(OX_ERR_ARG,"%s: no tensors",name);
if(oxi_any_null(name,list,count))return NULL;
ox_tensor**parts=oxi_list_new(count,&bytes);if(!parts)return NULL;
oxi_work work=oxi_work_begin(name);bool made=true;for(int i=0;i<count;i++){parts[i]=
columns&&list[i]->ndim<=1?ox_reshape(list[i],OX_SHAPE(-1,1)):oxi_atleast(list[i],ndim);
made=made&&parts[i];}
int along=made&&dim==OX_FLATTENED?(parts[0]->ndim>1):dim;ox_tensor*result=oxi_work_end(&work,made?ox_cat(parts,count,along):NULL);
oxi_free(parts,bytes?bytes:sizeof*parts);return result;}
OX_API ox_tensor*ox_hstack(ox_tensor*const*list,int count){return oxi_joined("hstack",list,count,1,OX_FLATTENED,false);}
OX_API ox_tensor*ox_vstack(ox_tensor*const*list,int count){return oxi_joined("vstack",list,count,2,0,false);}
OX_API ox_tensor*ox_diag_embed(ox_tensor*x,int64_t offset,int dim1,int dim2){if(oxi_any_null("diag_embed",&x,1))return NULL;
if(x->ndim<1||x->ndim>=OX_MAX_DIMS)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"diag_embed: %s",oxi_tensor_text(x));
int ndim=x->ndim+1,a=oxi_wrap_dim("diag_embed",dim1,ndim),b=oxi_wrap_dim("diag_embed",dim2,ndim);if(a<0||b<0)return NULL;
if(a==b)return OXI_FAIL_NULL(OX_ERR_DIM,"diag_embed: dim %d twice",a);
if(offset>INT32_MAX||offset<-INT32_MAX)
return OXI_FAIL_NULL(OX_ERR_ARG,"diag_embed: the offset %lld",(long long)offset);
int64_t size=x->shape[x->ndim-1]+(offset<0?-offset:offset);ox_shape shape=oxi_no_shape();shape.ndim=ndim;
for(int d=0,from=0;d<ndim;d++)shape.dim[d]=d==a||d==b?size:x->shape[from++];
oxi_work work=oxi_work_begin("diag_embed");ox_tensor*out=oxi_full("diag_embed",shape,0,x->dtype,ox_device_of(x));
bool done=out&&ox_copy_(ox_diagonal(out,offset,a,b),x);
return oxi_work_end(&work,done?out:NULL);}
OX_API ox_tensor*ox_diag(ox_tensor*x,int64_t diagonal){if(oxi_any_null("diag",&x,1))return NULL;
if(x->ndim!=1&&x->ndim!=2)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"diag: %s has not 1 or 2 dims",oxi_tensor_text(x));
if(x->ndim==1)return ox_diag_embed(x,diagonal,0,1);
oxi_work work=oxi_work_begin("diag");return oxi_work_end(&work,ox_clone(ox_diagonal(x,diagonal,0,1)));}
OXI_MADE_1(trace,x->ndim==2?ox_sum(ox_diagonal(x,0,0,1),OX_ALL_DIMS,false):OXI_FAIL_NULL(OX_ERR_SHAPE,"trace: of %s",oxi_tensor_text(x)))
OX_API ox_tensor*ox_repeat_interleave(ox_tensor*x,ox_tensor*repeats,int dim){ox_tensor*in[2]={x,repeats};
if(oxi_any_null("repeat_interleave",in,2))return NULL;
oxi_work work=oxi_work_begin("repeat_interleave");if(dim==OX_FLATTENED){x=ox_reshape(x,OX_SHAPE(-1));
dim=0;}
int at=x?oxi_own_dim("repeat_interleave",x,dim):-1;if(at<0)return oxi_work_end(&work,NULL);
if(repeats->ndim>1||(ox_numel(repeats)!=1&&ox_numel(repeats)!=x->shape[at])){
(void)oxi_fail(OX_ERR_SHAPE,"repeat_interleave: repeats %s for dim %d of %s",oxi_tensor_text(repeats),at,oxi_tensor_text(x));
return oxi_work_end(&work,NULL);}
ox_tensor*each=ox_expand(ox_reshape(ox_cast(repeats,OX_I64),OX_SHAPE(-1)),OX_SHAPE(x->shape[at]));ox_tensor*ends=ox_cumsum(each,0);
int64_t total=ends&&x->shape[at]?ox_item_int(ox_select(ends,0,-1)):0;if(ox_error()||total<0)return oxi_work_end(&work,NULL);
ox_tensor*places=ox_searchsorted(ends,oxi_ramp_beside(x,total,OX_I64),true);return oxi_work_end(&work,ox_index_select(x,at,places));}
/* >>nn/tensors/index.c */
static ox_tensor*oxi_wrapped_index(ox_tensor*index,int64_t size){index=ox_cast(index,OX_I64);
return ox_where(ox_lt_number(index,0),ox_add(index,ox_integer(size)),index);}
static ox_tensor*oxi_index_along(ox_tensor*index,ox_shape shape,int dim){ox_shape own=shape;
for(int d=0;d<shape.ndim;d++)own.dim[d]=d==dim?-1:1;
shape.dim[dim]=ox_numel(index);return ox_expand(ox_reshape(index,own),shape);}
OX_API ox_tensor*ox_index_copy(ox_tensor*x,int dim,ox_tensor*index,ox_tensor*source){ox_tensor*in[3]={x,index,source};
if(oxi_any_null("index_copy",in,3))return NULL;
oxi_work work=oxi_work_begin("index_copy");if(x->ndim==0)return oxi_work_end(&work,ox_reshape(ox_clone(source),ox_shape_of(x)));
int at=oxi_own_dim("index_copy",x,dim);if(at<0)return oxi_work_end(&work,NULL);
if(source->ndim==0)source=ox_reshape(source,OX_SHAPE(1));
ox_tensor*places=oxi_index_along(ox_cast(index,OX_I64),ox_shape_of(source),at);return oxi_work_end(&work,ox_scatter(x,at,places,source));
}
typedef struct oxi_indexed_dims{ox_tensor*front,*place;ox_shape broadcast,rest,order;int at;}oxi_indexed_dims;
static int oxi_plain_indices(const char*name,ox_tensor*x,ox_tensor*const*given,int count,ox_tensor**list){int used=0;
for(int i=0;i<count;i++){ox_tensor*t=given[i];
bool mask=t&&(t->dtype==OX_BOOL||t->dtype==OX_U8);int takes=mask?t->ndim:1;if(used+takes>x->ndim){
(void)oxi_fail(OX_ERR_DIM,"%s: more indices than dims of %s",name,oxi_tensor_text(x));return-1;}
if(!mask)list[used++]=t;
ox_tensor*places=mask?ox_nonzero(t):NULL;for(int d=0;d<takes&&mask;d++){if(t->shape[d]!=x->shape[used]){
(void)oxi_fail(OX_ERR_SHAPE,"%s: the mask %s does not fit %s",name,oxi_tensor_text(t),oxi_tensor_text(x));
return-1;}
list[used++]=ox_select(places,1,d);if(!list[used-1])return-1;}}
return used;}
static bool oxi_index_dims(const char*name,ox_tensor*x,ox_tensor*const*given,int count,oxi_indexed_dims*out){
ox_tensor*list[OX_MAX_DIMS],*few[OX_MAX_DIMS];int used=oxi_plain_indices(name,x,given,count,list),first=-1,last=-1,indexed=0;
if(used<0)return false;
memset(out,0,sizeof*out);for(int d=0;d<used;d++){if(!list[d])continue;
if(first<0)first=d;
last=d;few[indexed]=list[d];out->order.dim[indexed++]=d;}
if(indexed==0){(void)oxi_fail(OX_ERR_ARG,"%s: no index",name);
return false;}
if(!oxi_common_shape(name,few,indexed,&out->broadcast))return false;
out->at=last-first+1==indexed?first:0;int64_t room=1;for(int i=0;i<indexed;i++){int64_t size=x->shape[out->order.dim[i]];
ox_tensor*own=ox_expand(oxi_wrapped_index(few[i],size),out->broadcast);if(own&&ox_numel(own)){
ox_tensor*beyond=ox_logical_or(ox_lt_number(own,0),ox_ge(own,ox_integer(size)));if(ox_item_int(ox_any(beyond,OX_ALL_DIMS,false))){
(void)oxi_fail(OX_ERR_INDEX,"%s: an index is out of range for dim %d of %s",name,(int)out->order.dim[i],oxi_tensor_text(x));return false;
}}
out->place=i?ox_add(ox_mul(out->place,ox_integer(size)),own):own;room*=size;}
out->place=ox_reshape(out->place,OX_SHAPE(-1));out->order.ndim=x->ndim;out->rest.ndim=x->ndim-indexed;for(int d=0,to=0;d<x->ndim;d++){
if(d<used&&list[d])continue;
out->order.dim[indexed+to]=d;out->rest.dim[to++]=x->shape[d];}
ox_shape flat=out->rest;flat.ndim++;for(int d=flat.ndim-1;d>0;d--)flat.dim[d]=flat.dim[d-1];
flat.dim[0]=room;out->front=ox_reshape(ox_permute(x,out->order),flat);return out->front&&out->place;}
static ox_shape oxi_indexed_shape(const oxi_indexed_dims*i){ox_shape shape=oxi_no_shape();
for(int d=0;d<i->at;d++)shape.dim[shape.ndim++]=i->rest.dim[d];
for(int d=0;d<i->broadcast.ndim&&shape.ndim<OX_MAX_DIMS;d++)
shape.dim[shape.ndim++]=i->broadcast.dim[d];
for(int d=i->at;d<i->rest.ndim&&shape.ndim<OX_MAX_DIMS;d++)
shape.dim[shape.ndim++]=i->rest.dim[d];
return shape;}
static ox_shape oxi_indexed_order(const oxi_indexed_dims*i,bool back){ox_shape order=oxi_no_shape();int wide=i->broadcast.ndim;
order.ndim=wide+i->rest.ndim;for(int d=0;d<order.ndim;d++){int from=d<i->at?wide+d:d<i->at+wide?d-i->at:d;
order.dim[back?from:d]=back?d:from;}
return order;}
OX_API ox_tensor*ox_index(ox_tensor*x,ox_tensor*const*indices,int count){oxi_indexed_dims i;if(oxi_any_null("index",&x,1))return NULL;
oxi_work work=oxi_work_begin("index");if(!oxi_index_dims("index",x,indices,count,&i))return oxi_work_end(&work,NULL);
ox_tensor*rows=ox_index_select(i.front,0,i.place);ox_shape shape=i.broadcast;if(shape.ndim+i.rest.ndim>OX_MAX_DIMS){
(void)oxi_fail(OX_ERR_SHAPE,"index: more than %d dims",OX_MAX_DIMS);return oxi_work_end(&work,NULL);}
for(int d=0;d<i.rest.ndim;d++)shape.dim[shape.ndim++]=i.rest.dim[d];
rows=ox_reshape(rows,shape);return oxi_work_end(&work,i.at?ox_contiguous(ox_permute(rows,oxi_indexed_order(&i,false))):rows);}
OX_API ox_tensor*ox_index_put(ox_tensor*x,ox_tensor*const*indices,int count,ox_tensor*values,bool accumulate){ox_tensor*in[2]={x,values};
oxi_indexed_dims i;if(oxi_any_null("index_put",in,2))return NULL;
oxi_work work=oxi_work_begin("index_put");if(!oxi_index_dims("index_put",x,indices,count,&i))return oxi_work_end(&work,NULL);
values=ox_permute(ox_expand(ox_cast(values,x->dtype),oxi_indexed_shape(&i)),oxi_indexed_order(&i,true));
if(!values)return oxi_work_end(&work,NULL);
ox_shape flat=ox_shape_of(i.front),was=oxi_no_shape(),back=oxi_no_shape();flat.dim[0]=ox_numel(i.place);values=ox_reshape(values,flat);
ox_tensor*made=accumulate?ox_index_add(i.front,0,i.place,values,1):ox_index_copy(i.front,0,i.place,values);was.ndim=back.ndim=x->ndim;
for(int d=0;d<x->ndim;d++)was.dim[d]=x->shape[i.order.dim[d]];
for(int d=0;d<x->ndim;d++)back.dim[i.order.dim[d]]=d;
return oxi_work_end(&work,ox_contiguous(ox_permute(ox_reshape(made,was),back)));}
/* >>nn/tensors/elementwise.c */
static ox_tensor*oxi_log_of_sum(ox_tensor*a,ox_tensor*b,bool of_two){
ox_tensor*same=ox_logical_and(ox_eq(a,b),ox_isinf(a)),*first=ox_ge(a,b);ox_tensor*most=ox_where(first,a,b),*least=ox_where(first,b,a);
ox_tensor*apart=ox_where(same,ox_number(0),ox_sub(least,most));ox_tensor*more=
of_two?ox_mul_number(ox_log1p(ox_exp2(apart)),1.44269504088896340736):ox_log1p(ox_exp(apart));
return ox_where(same,a,ox_add(most,more));}
OXI_MADE_2(logaddexp,oxi_log_of_sum(a,b,false))
OXI_MADE_2(logaddexp2,oxi_log_of_sum(a,b,true))
static ox_tensor*oxi_times_log(ox_tensor*a,ox_tensor*b,double edge){a=oxi_as_float(a);
b=oxi_as_float(b);ox_tensor*none=ox_logical_and(ox_eq_number(a,0),ox_logical_or(ox_le_number(b,edge),ox_eq_number(b,INFINITY)));
ox_tensor*safe=ox_where(none,ox_number(1),b);return ox_where(none,ox_number(0),ox_mul(a,edge<0?ox_log1p(safe):ox_log(safe)));}
OXI_MADE_2(xlogy,oxi_times_log(a,b,0))
OXI_MADE_2(xlog1py,oxi_times_log(a,b,-1))
OXI_MADE_2(heaviside,ox_where(ox_eq_number(a,0),b,ox_cast(ox_gt_number(a,0),a->dtype)))
static ox_tensor*oxi_ldexp(ox_tensor*a,ox_tensor*b){
if(!oxi_is_float(a->dtype)||oxi_is_float(b->dtype))return ox_mul(a,ox_rpow_number(b,2));
ox_tensor*wide=oxi_wide(a);return ox_cast(ox_mul(wide,ox_rpow_number(ox_cast(b,wide->dtype),2)),a->dtype);}
OXI_MADE_2(ldexp,oxi_ldexp(a,b))
OXI_MADE_2(float_power,ox_pow(ox_cast(a,OX_F64),ox_cast(b,OX_F64)))
OXI_MADE_1(deg2rad,ox_mul_number(x,OXI_PI_F64/180))
OXI_MADE_1(rad2deg,ox_mul_number(x,180/OXI_PI_F64))
OXI_MADE_1(isposinf,ox_eq_number(x,INFINITY))
OXI_MADE_1(isneginf,ox_eq_number(x,-INFINITY))
OXI_MADE_1(tanhshrink,ox_sub(x,ox_tanh(x)))
static ox_tensor*oxi_sinc(ox_tensor*x){ox_tensor*zero=ox_eq_number(x,0),*wide=oxi_as_float(x);
ox_tensor*angle=ox_mul_number(ox_where(zero,ox_number(1),wide),OXI_PI_F64);ox_tensor*square=ox_square(ox_where(zero,wide,ox_number(0)));
ox_tensor*flat=ox_mul_number(square,OXI_PI_F64*OXI_PI_F64/6);return ox_where(zero,ox_rsub_number(flat,1),ox_div(ox_sin(angle),angle));}
OXI_MADE_1(sinc,oxi_sinc(x))
static ox_tensor*oxi_nextafter(ox_tensor*a,ox_tensor*b){ox_dtype bits=oxi_bits_type(a->dtype);
ox_tensor*both[2],*wide;wide=ox_maximum(a,b);if(!wide||a->dtype!=b->dtype||!oxi_is_float(a->dtype)){if(wide)
(void)oxi_fail(OX_ERR_DTYPE,"nextafter: %s x %s are not floats of one dtype",oxi_tensor_text(a),oxi_tensor_text(b));
return NULL;}
both[0]=ox_contiguous(ox_expand(a,ox_shape_of(wide)));both[1]=ox_expand(b,ox_shape_of(wide));
ox_tensor*grows=ox_eq(ox_lt(both[0],both[1]),ox_gt_number(both[0],0));
ox_tensor*step=ox_cast(ox_sub_number(ox_mul_number(ox_cast(grows,OX_F32),2),1),bits);
ox_tensor*next=ox_view_dtype(ox_add(ox_view_dtype(both[0],bits),step),a->dtype);
ox_tensor*least=ox_view_dtype(ox_ones_like(step),a->dtype);next=ox_where(ox_eq_number(both[0],0),ox_copysign(least,both[1]),next);
return ox_where(ox_eq(both[0],both[1]),both[1],ox_where(ox_isnan(wide),wide,next));}
OXI_MADE_2(nextafter,oxi_nextafter(a,b))
static ox_tensor*oxi_gcd(ox_tensor*a,ox_tensor*b){a=ox_abs(a);
b=ox_abs(b);ox_tensor*sum=ox_add(a,b);if(!sum||!oxi_is_int(sum->dtype))
return sum?OXI_FAIL_NULL(OX_ERR_DTYPE,"gcd: of integers only"):NULL;
a=ox_expand(ox_cast(a,sum->dtype),ox_shape_of(sum));b=ox_expand(ox_cast(b,sum->dtype),ox_shape_of(sum));
while(b&&ox_numel(b)&&ox_item_int(ox_any(ox_ne_number(b,0),OX_ALL_DIMS,false))){
ox_tensor*done=ox_eq_number(b,0),*rest=ox_remainder(a,ox_where(done,ox_integer(1),b));
a=ox_where(done,a,b);
b=ox_where(done,b,rest);}
return ox_error()?NULL:a;}
OXI_MADE_2(gcd,oxi_gcd(a,b))
static ox_tensor*oxi_lcm(ox_tensor*a,ox_tensor*b){ox_tensor*common=oxi_gcd(a,b),*none=ox_eq_number(common,0);
return ox_mul(ox_trunc_divide(ox_abs(a),ox_where(none,ox_integer(1),common)),ox_abs(b));}
OXI_MADE_2(lcm,oxi_lcm(a,b))
OX_API ox_tensor*ox_logit(ox_tensor*x,double eps){if(oxi_any_null("logit",&x,1))return NULL;
oxi_work work=oxi_work_begin("logit");ox_tensor*p=oxi_as_float(x);if(eps>=0){
ox_tensor*below=ox_where(ox_gt_number(p,1 -eps),ox_number(1 -eps),p);p=ox_where(ox_lt_number(p,eps),ox_number(eps),below);}
return oxi_work_end(&work,ox_log(ox_div(p,ox_rsub_number(p,1))));}
OX_API ox_tensor*ox_hardshrink(ox_tensor*x,double lambda){if(oxi_any_null("hardshrink",&x,1))return NULL;
oxi_work work=oxi_work_begin("hardshrink");return oxi_work_end(&work,ox_where(ox_le_number(ox_abs(x),lambda),ox_number(0),x));}
OX_API ox_tensor*ox_softshrink(ox_tensor*x,double lambda){
if(oxi_any_null("softshrink",&x,1)||!oxi_number_fits("softshrink",lambda>=0,lambda))return NULL;
oxi_work work=oxi_work_begin("softshrink");ox_tensor*inside=ox_where(ox_isnan(x),x,ox_number(0));
ox_tensor*below=ox_where(ox_lt_number(x,-lambda),ox_add_number(x,lambda),inside);
return oxi_work_end(&work,ox_where(ox_gt_number(x,lambda),ox_sub_number(x,lambda),below));}
OX_API ox_tensor*ox_softmin(ox_tensor*x,int dim){if(oxi_any_null("softmin",&x,1))return NULL;
oxi_work work=oxi_work_begin("softmin");return oxi_work_end(&work,ox_softmax(ox_neg(x),dim));}
OX_API ox_tensor*ox_prelu(ox_tensor*x,ox_tensor*weight){ox_tensor*in[2]={x,weight};if(oxi_any_null("prelu",in,2))return NULL;
if(weight->ndim>1)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"prelu: %s is not a weight a channel",oxi_tensor_text(weight));
oxi_work work=oxi_work_begin("prelu");if(ox_numel(weight)>1&&x->ndim>1)weight=oxi_by_channel(weight,x);
if(x->ndim==0)weight=ox_reshape(weight,OX_ALL_DIMS);
ox_tensor*y=ox_where(ox_gt_number(x,0),x,ox_mul(x,weight));return oxi_work_end(&work,y);}
OX_API ox_tensor*ox_rrelu(ox_tensor*x,double lower,double upper,bool training){
if(oxi_any_null("rrelu",&x,1)||!oxi_number_fits("rrelu",lower<=upper,lower))return NULL;
oxi_work work=oxi_work_begin("rrelu");ox_tensor*slope=training?ox_uniform_(ox_empty_like(x),lower,upper):ox_number((lower+upper)/2);
return oxi_work_end(&work,ox_where(ox_gt_number(x,0),x,ox_mul(x,slope)));}
OX_API ox_tuple ox_frexp(ox_tensor*x){ox_tuple made;memset(&made,0,sizeof made);if(oxi_any_null("frexp",&x,1))return made;
oxi_work work=oxi_work_begin("frexp");ox_tensor*plain=ox_logical_and(ox_isfinite(x),ox_ne_number(x,0));
ox_tensor*size=ox_where(plain,ox_abs(ox_cast(x,OX_F64)),ox_number(0.5));ox_tensor*power=ox_add_number(ox_floor(ox_log2(size)),1);
ox_tensor*half=ox_floor(ox_mul_number(power,-0.5));ox_tensor*part=ox_mul(ox_mul(size,ox_exp2(half)),ox_exp2(ox_sub(ox_neg(power),half)));
power=ox_add(power,ox_sub(ox_cast(ox_ge_number(part,1),OX_F64),ox_cast(ox_lt_number(part,0.5),OX_F64)));
half=ox_floor(ox_mul_number(power,-0.5));ox_tensor*rest=ox_sub(ox_neg(power),half);
made.t[0]=ox_mul(ox_mul(x,ox_cast(ox_exp2(half),x->dtype)),ox_cast(ox_exp2(rest),x->dtype));
made.t[1]=ox_cast(ox_where(plain,power,ox_number(0)),OX_I32);if(!made.t[0]||!made.t[1])made.t[0]=made.t[1]=NULL;
ox_keep(made.t[0]);(void)oxi_work_end(&work,made.t[1]);return made;}
/* >>nn/tensors/products.c */
static ox_tensor*oxi_scaled_by(ox_tensor*x,double factor){if(!x||factor==1)return x;
if(oxi_is_int(x->dtype)||x->dtype==OX_BOOL)return ox_mul(x,ox_integer((int64_t)factor));
return ox_mul_number(x,factor);}
static ox_tensor*oxi_onto(oxi_work*work,ox_tensor*c,ox_tensor*product,double beta,double alpha){product=oxi_scaled_by(product,alpha);
if(beta!=0)
product=ox_add(oxi_scaled_by(c,beta),product);
else if(product&&c->ndim>product->ndim)
product=ox_expand(product,ox_shape_of(c));
bool whole=product&&product->dtype==OX_I64&&c->dtype==OX_BOOL;return oxi_work_end(work,whole?ox_cast(product,OX_BOOL):product);}
#define OXI_ONTO(name, ...)\
OX_API ox_tensor*ox_##name(ox_tensor*c,ox_tensor*a,ox_tensor*b,double beta,double alpha){\
ox_tensor*in[3]={c,a,b};\
if(oxi_any_null(#name,in,3))return NULL;\
oxi_work work=oxi_work_begin(#name);\
return oxi_onto(&work,c,(__VA_ARGS__),beta,alpha);}
OXI_ONTO(addmv,ox_matmul(a,b))
OXI_ONTO(addr,a->dtype==OX_BOOL?ox_logical_and(ox_unsqueeze(a,1),b):ox_outer(a,b))
OXI_ONTO(baddbmm,ox_matmul(a,b))
OXI_ONTO(addbmm,ox_sum_as(ox_matmul(a,b),OX_DIMS(0),false,a->dtype))
OXI_MADE_2(inner,!a->ndim||!b->ndim?ox_mul(a,b):ox_matmul(a,b->ndim==1?b:ox_transpose(b,-1,-2)))
OXI_MADE_2(vdot,ox_dot(oxi_is_complex(a)?ox_conj(a):a,b))
OX_API ox_tensor*ox_vecdot(ox_tensor*a,ox_tensor*b,int dim){ox_tensor*in[2]={a,b};
if(oxi_any_null("vecdot",in,2))return NULL;
oxi_work work=oxi_work_begin("vecdot");
return oxi_work_end(&work,ox_sum(ox_mul(oxi_is_complex(a)?ox_conj(a):a,b),OX_DIMS(dim),false));}
OX_API ox_tensor*ox_tensordot(ox_tensor*a,ox_tensor*b,ox_shape dims_a,ox_shape dims_b){ox_tensor*in[2]={a,b};
uint32_t sets[2]={0,0};ox_shape order[2],kept=oxi_no_shape();int64_t inner=1;if(oxi_any_null("tensordot",in,2))return NULL;
if(dims_a.ndim!=dims_b.ndim||dims_a.ndim<0)
return OXI_FAIL_NULL(OX_ERR_DIM,"tensordot: %d dims with %d",dims_a.ndim,dims_b.ndim);
if((dims_a.ndim&&!oxi_dim_set("tensordot",a,&dims_a,&sets[0]))||(dims_b.ndim&&!oxi_dim_set("tensordot",b,&dims_b,&sets[1])))
return NULL;
for(int side=0;side<2;side++){ox_shape*o=&order[side],joined=side?dims_b:dims_a;
int n=in[side]->ndim,to=0;*o=oxi_no_shape();o->ndim=n;for(int i=0;i<joined.ndim;i++){
int d=(int)(joined.dim[i]<0?joined.dim[i]+n:joined.dim[i]);o->dim[side?i:n-joined.ndim+i]=d;}
for(int d=0;d<n;d++){if(sets[side]>>d&1)continue;
o->dim[side?joined.ndim+to:to]=d;to++;if(kept.ndim==OX_MAX_DIMS)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"tensordot: more than %d dims",OX_MAX_DIMS);
kept.dim[kept.ndim++]=in[side]->shape[d];}}
oxi_work work=oxi_work_begin("tensordot");
for(int i=0;i<dims_a.ndim;i++){int d=(int)(dims_a.dim[i]<0?dims_a.dim[i]+a->ndim:dims_a.dim[i]);
int e=(int)(dims_b.dim[i]<0?dims_b.dim[i]+b->ndim:dims_b.dim[i]);if(a->shape[d]==1&&b->shape[e]!=1)
b=ox_sum_as(b,OX_DIMS(e),true,b->dtype);
else if(b->shape[e]==1&&a->shape[d]!=1)
a=ox_sum_as(a,OX_DIMS(d),true,a->dtype);
if(!a||!b)return oxi_work_end(&work,NULL);
if(a->shape[d]!=b->shape[e]){(void)oxi_fail(OX_ERR_SHAPE,"tensordot: dim %d of %s with dim %d of %s",d,oxi_tensor_text(a),
e,oxi_tensor_text(b));
return oxi_work_end(&work,NULL);}
inner*=a->shape[d];}
int64_t rows=1,columns=1;for(int i=0;i<kept.ndim;i++)*(i<a->ndim-dims_a.ndim?&rows:&columns)*=kept.dim[i];
ox_tensor*left=ox_reshape(ox_permute(a,order[0]),OX_SHAPE(rows,inner));
ox_tensor*right=ox_reshape(ox_permute(b,order[1]),OX_SHAPE(inner,columns));
return oxi_work_end(&work,ox_reshape(ox_matmul(left,right),kept));}
/* >>nn/tensors/choose.c */
OX_API ox_tensor*ox_index_fill(ox_tensor*x,int dim,ox_tensor*index,ox_tensor*value){ox_tensor*in[3]={x,index,value};
if(oxi_any_null("index_fill",in,3))return NULL;
oxi_work work=oxi_work_begin("index_fill");if(x->ndim==0){
ox_tensor*made=ox_numel(index)?ox_reshape(ox_cast(value,x->dtype),ox_shape_of(x)):x;return oxi_work_end(&work,ox_clone(made));}
int at=oxi_own_dim("index_fill",x,dim);if(at<0)return oxi_work_end(&work,NULL);
ox_tensor*line=oxi_full("index_fill",OX_SHAPE(x->shape[at]),0,OX_F32,ox_device_of(x));
ox_tensor*places=oxi_wrapped_index(ox_reshape(index,OX_SHAPE(-1)),x->shape[at]);
ox_tensor*ones=oxi_full("index_fill",OX_SHAPE(ox_numel(index)),1,OX_F32,ox_device_of(x));
ox_tensor*mask=ox_cast(ox_scatter(line,0,places,ones),OX_BOOL);ox_shape shape=ox_shape_of(x);
for(int d=0;d<shape.ndim;d++)shape.dim[d]=d==at?x->shape[at]:1;
return oxi_work_end(&work,ox_where(ox_reshape(mask,shape),ox_cast(value,x->dtype),x));}
OX_API ox_tensor*ox_take(ox_tensor*x,ox_tensor*index){ox_tensor*in[2]={x,index};if(oxi_any_null("take",in,2))return NULL;
oxi_work work=oxi_work_begin("take");ox_tensor*places=oxi_wrapped_index(ox_reshape(index,OX_SHAPE(-1)),ox_numel(x));
ox_tensor*taken=ox_index_select(ox_reshape(x,OX_SHAPE(-1)),0,places);return oxi_work_end(&work,ox_reshape(taken,ox_shape_of(index)));}
OX_API ox_tensor*ox_put(ox_tensor*x,ox_tensor*index,ox_tensor*source,bool accumulate){ox_tensor*in[3]={x,index,source};
if(oxi_any_null("put",in,3))return NULL;
oxi_work work=oxi_work_begin("put");ox_tensor*flat=ox_reshape(x,OX_SHAPE(-1)),*values=ox_reshape(source,OX_SHAPE(-1));
ox_tensor*places=oxi_wrapped_index(ox_reshape(index,OX_SHAPE(-1)),ox_numel(x));
flat=accumulate?ox_scatter_add(flat,0,places,values):ox_scatter(flat,0,places,values);
return oxi_work_end(&work,ox_reshape(flat,ox_shape_of(x)));}
OX_API ox_tensor*ox_masked_scatter(ox_tensor*x,ox_tensor*mask,ox_tensor*source){ox_tensor*in[3]={x,mask,source};ox_shape shape;
if(oxi_any_null("masked_scatter",in,3))return NULL;
if(!oxi_common_shape("masked_scatter",in,2,&shape))return NULL;
oxi_work work=oxi_work_begin("masked_scatter");ox_tensor*flat=ox_reshape(ox_expand(mask,shape),OX_SHAPE(-1));
ox_tensor*values=ox_reshape(source,OX_SHAPE(-1));ox_tensor*order=ox_sub(ox_cumsum(ox_cast(flat,OX_I64),0),ox_integer(1));
if(!order||!values||ox_numel(order)==0)return oxi_work_end(&work,ox_clone(ox_expand(x,shape)));
order=ox_where(flat,order,ox_integer(0));if(ox_numel(values)==0&&ox_item_int(ox_any(flat,OX_ALL_DIMS,false))){
(void)oxi_fail(OX_ERR_SHAPE,"masked_scatter: the source has no elements");return oxi_work_end(&work,NULL);}
if(ox_numel(values)==0)return oxi_work_end(&work,ox_clone(ox_expand(x,shape)));
ox_tensor*taken=ox_reshape(ox_index_select(values,0,order),shape);return oxi_work_end(&work,ox_where(ox_expand(mask,shape),taken,x));}
OX_API ox_tensor*ox_dstack(ox_tensor*const*list,int count){return oxi_joined("dstack",list,count,3,2,false);}
OX_API ox_tensor*ox_column_stack(ox_tensor*const*list,int count){return oxi_joined("column_stack",list,count,1,1,true);}
static int64_t oxi_results_end(ox_tensor**out,int64_t made,int64_t count){if(made==count)return count;
while(made-- >0){ox_release(out[made]);
out[made]=NULL;}
return-1;}
OX_API int64_t ox_broadcast_tensors(ox_tensor*const*list,int count,ox_tensor**out,int64_t room){ox_shape shape;int64_t made=0;
if(count<0||oxi_any_null("broadcast_tensors",list,count))return-1;
if(!oxi_common_shape("broadcast_tensors",list,count,&shape))return-1;
int64_t wanted=!out?0:room<count?room:count;for(;made<wanted;made++)
if(!(out[made]=ox_expand(list[made],shape)))break;
return oxi_results_end(out,made,wanted)<0?-1:count;}
OX_API int64_t ox_tensor_split_at(ox_tensor*x,const int64_t*indices,int64_t count,int dim,ox_tensor**out,int64_t room){
int64_t made=0,start=0;if(oxi_any_null("tensor_split",&x,1))return-1;
int at=oxi_own_dim("tensor_split",x,dim);if(at<0||count<0)return-1;
int64_t wanted=!out?0:room<count+1?room:count+1;for(;made<wanted;made++){int64_t end=made<count?indices[made]:OX_END;
out[made]=ox_slice(x,at,start,end,1);if(!out[made])break;
start=end;}
return oxi_results_end(out,made,wanted)<0?-1:count+1;}
OX_API int64_t ox_tensor_split(ox_tensor*x,int64_t sections,int dim,ox_tensor**out,int64_t room){int64_t made=0,start=0;
if(oxi_any_null("tensor_split",&x,1))return-1;
int at=oxi_own_dim("tensor_split",x,dim);if(at<0)return-1;
if(sections<1){(void)oxi_fail(OX_ERR_ARG,"tensor_split: %lld sections",(long long)sections);
return-1;}
int64_t each=x->shape[at]/sections,longer=x->shape[at]%sections;int64_t wanted=!out?0:room<sections?room:sections;
for(;made<wanted;made++){int64_t length=each+(made<longer);
out[made]=ox_narrow(x,at,start,length);if(!out[made])break;
start+=length;}
return oxi_results_end(out,made,wanted)<0?-1:sections;}
static ox_tensor*oxi_searched(ox_tensor*sorted,ox_tensor*values,bool right){int64_t size=sorted->ndim?sorted->shape[sorted->ndim-1]:1;
ox_tensor*low=ox_zeros_like(ox_cast(values,OX_I64));ox_tensor*high=
oxi_full("searchsorted",ox_shape_of(values),(double)size,OX_I64,ox_device_of(values));
if(size==0)return low;
for(int64_t left=size;left>0&&low&&high;left/=2){ox_tensor*middle=ox_floor_divide(ox_add(low,high),ox_integer(2));
ox_tensor*place=ox_minimum(middle,ox_integer(size-1)),*there;if(sorted->ndim==1)
there=ox_reshape(ox_index_select(sorted,0,ox_reshape(place,OX_SHAPE(-1))),ox_shape_of(values));
else
there=ox_gather(sorted,-1,place);
ox_tensor*below=right?ox_le(there,values):ox_lt(there,values);if(oxi_is_float(there?there->dtype:OX_BOOL)){
ox_tensor*nan=ox_isnan(values);below=ox_where(nan,right?ox_logical_or(below,nan):ox_logical_not(ox_isnan(there)),below);}
below=ox_logical_and(below,ox_lt(low,high));ox_tensor*moved=ox_where(below,ox_add(middle,ox_integer(1)),low);
high=ox_where(ox_logical_or(below,ox_ge(low,high)),high,middle);low=moved;}
return low;}
OX_API ox_tensor*ox_searchsorted(ox_tensor*sorted,ox_tensor*values,bool right){ox_tensor*in[2]={sorted,values};
if(oxi_any_null("searchsorted",in,2))return NULL;
bool fits=sorted->ndim==1||sorted->ndim==values->ndim;for(int d=0;fits&&sorted->ndim>1&&d+1<sorted->ndim;d++)
fits=sorted->shape[d]==values->shape[d];
if(!fits||sorted->ndim==0)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"searchsorted: values %s for lines of %s",oxi_tensor_text(values),oxi_tensor_text(sorted));
oxi_work work=oxi_work_begin("searchsorted");return oxi_work_end(&work,oxi_searched(sorted,values,right));}
OX_API ox_tensor*ox_bucketize(ox_tensor*values,ox_tensor*boundaries,bool right){ox_tensor*in[2]={values,boundaries};
if(oxi_any_null("bucketize",in,2))return NULL;
if(boundaries->ndim!=1)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"bucketize: boundaries %s",oxi_tensor_text(boundaries));
oxi_work work=oxi_work_begin("bucketize");return oxi_work_end(&work,oxi_searched(boundaries,values,right));}
OX_API ox_tensor*ox_isin(ox_tensor*x,ox_tensor*among,bool invert){ox_tensor*in[2]={x,among};if(oxi_any_null("isin",in,2))return NULL;
oxi_work work=oxi_work_begin("isin");ox_tensor*has,*sorted=ox_sort(ox_reshape(among,OX_SHAPE(-1)),0,false).values;if(ox_numel(among)==0)
has=oxi_full("isin",ox_shape_of(x),0,OX_BOOL,ox_device_of(x));
else
has=ox_ne(oxi_searched(sorted,x,false),oxi_searched(sorted,x,true));
return oxi_work_end(&work,invert?ox_logical_not(has):has);}
/* >>nn/tensors/arrange.c */
OX_API ox_tensor*ox_rot90(ox_tensor*x,int64_t times,int dim0,int dim1){if(oxi_any_null("rot90",&x,1))return NULL;
int a=oxi_own_dim("rot90",x,dim0),b=oxi_own_dim("rot90",x,dim1);if(a<0||b<0)return NULL;
if(a==b)return OXI_FAIL_NULL(OX_ERR_DIM,"rot90: dim %d twice",a);
oxi_work work=oxi_work_begin("rot90");int64_t turns=((times%4)+4)%4;ox_tensor*made=turns==0?ox_clone(x):turns==2?ox_flip(x,OX_DIMS(a,b))
:turns==1?ox_transpose(ox_flip(x,OX_DIMS(b)),a,b):ox_transpose(ox_flip(x,OX_DIMS(a)),a,b);
return oxi_work_end(&work,made);}
OX_API ox_tensor*ox_diagflat(ox_tensor*x,int64_t offset){if(oxi_any_null("diagflat",&x,1))return NULL;
oxi_work work=oxi_work_begin("diagflat");return oxi_work_end(&work,ox_diag_embed(ox_reshape(x,OX_SHAPE(-1)),offset,0,1));}
static ox_tensor*oxi_triangle_places(const char*name,int64_t rows,int64_t columns,int64_t offset,bool upper){if(rows<0||columns<0)
return OXI_FAIL_NULL(OX_ERR_ARG,"%s: %lld x %lld",name,(long long)rows,(long long)columns);
oxi_work work=oxi_work_begin(name);ox_tensor*ones=ox_ones(OX_SHAPE(rows,columns),OX_BOOL);
ox_tensor*places=ox_nonzero(upper?ox_triu(ones,offset):ox_tril(ones,offset));return oxi_work_end(&work,ox_contiguous(ox_t(places)));}
OX_API ox_tensor*ox_tril_indices(int64_t rows,int64_t columns,int64_t offset){
return oxi_triangle_places("tril_indices",rows,columns,offset,false);}
OX_API ox_tensor*ox_triu_indices(int64_t rows,int64_t columns,int64_t offset){
return oxi_triangle_places("triu_indices",rows,columns,offset,true);}
OX_API int64_t ox_meshgrid(ox_tensor*const*list,int count,const char*indexing,ox_tensor**out,int64_t room){ox_shape shape=oxi_no_shape();
int64_t made=0;bool swaps=indexing&&strcmp(indexing,"xy")==0&&count>1;if(count<1||count>OX_MAX_DIMS||
(indexing&&!swaps&&strcmp(indexing,"ij")&&strcmp(indexing,"xy"))){
(void)oxi_fail(OX_ERR_ARG,"meshgrid: %d tensors as \"%s\"",count,indexing?indexing:"ij");return-1;}
if(oxi_any_null("meshgrid",list,count))return-1;
shape.ndim=count;for(int i=0;i<count;i++)shape.dim[swaps&&i<2?1 -i:i]=ox_numel(list[i]);
int64_t wanted=!out?0:room<count?room:count;for(;made<wanted;made++){ox_shape own=oxi_no_shape();
own.ndim=count;for(int d=0;d<count;d++)own.dim[d]=1;
own.dim[swaps&&made<2?1 -made:made]=ox_numel(list[made]);oxi_work work=oxi_work_begin("meshgrid");
out[made]=oxi_work_end(&work,ox_expand(ox_reshape(list[made],own),shape));if(!out[made])break;}
return oxi_results_end(out,made,wanted)<0?-1:count;}
static bool oxi_same_shape(const ox_tensor*a,const ox_tensor*b){bool same=a->ndim==b->ndim;
for(int d=0;same&&d<a->ndim;d++)same=a->shape[d]==b->shape[d];
return same;}
typedef ox_tensor*(*oxi_window)(ox_tensor*copy,const int64_t*told);
static ox_tensor*oxi_with_part(const char*name,ox_tensor*x,ox_tensor*source,oxi_window window,const int64_t*told){
ox_tensor*in[2]={x,source};if(oxi_any_null(name,in,2))return NULL;
oxi_work work=oxi_work_begin(name);ox_tensor*copy=ox_clone(x),*part=copy?window(copy,told):NULL;
if(part&&!oxi_same_shape(part,source)){(void)oxi_fail(OX_ERR_SHAPE,"%s: %s in the place of %s",name,oxi_tensor_text(source),
oxi_tensor_text(part));
part=NULL;}
return oxi_work_end(&work,part&&ox_copy_(part,source)?copy:NULL);}
static ox_tensor*oxi_window_select(ox_tensor*copy,const int64_t*told){return ox_select(copy,(int)told[0],told[1]);}
static ox_tensor*oxi_window_slice(ox_tensor*copy,const int64_t*told){return ox_slice(copy,(int)told[0],told[1],told[2],told[3]);}
static ox_tensor*oxi_window_diagonal(ox_tensor*copy,const int64_t*told){return ox_diagonal(copy,told[0],(int)told[1],(int)told[2]);}
OX_API ox_tensor*ox_select_scatter(ox_tensor*x,ox_tensor*source,int dim,int64_t index){const int64_t told[2]={dim,index};
return oxi_with_part("select_scatter",x,source,oxi_window_select,told);}
OX_API ox_tensor*ox_slice_scatter(ox_tensor*x,ox_tensor*source,int dim,int64_t start,int64_t end,int64_t step){
const int64_t told[4]={dim,start,end,step};return oxi_with_part("slice_scatter",x,source,oxi_window_slice,told);}
OX_API ox_tensor*ox_diagonal_scatter(ox_tensor*x,ox_tensor*source,int64_t offset,int dim1,int dim2){
const int64_t told[3]={offset,dim1,dim2};return oxi_with_part("diagonal_scatter",x,source,oxi_window_diagonal,told);}
OX_API ox_tensor*ox_as_strided_scatter(ox_tensor*x,ox_tensor*source,ox_shape shape,ox_shape strides,int64_t offset){
ox_tensor*in[2]={x,source};if(oxi_any_null("as_strided_scatter",in,2))return NULL;
oxi_work work=oxi_work_begin("as_strided_scatter");
ox_tensor*places=ox_as_strided(oxi_ramp_beside(x,ox_numel(x),OX_I64),shape,strides,offset);if(places&&!oxi_same_shape(places,source)){
(void)oxi_fail(OX_ERR_SHAPE,"as_strided_scatter: %s in the place of %s",oxi_tensor_text(source),oxi_tensor_text(places));places=NULL;}
return oxi_work_end(&work,places?ox_put(x,places,source,false):NULL);}
static bool oxi_unravel_steps(const ox_tensor*indices,const ox_shape*shape,int64_t*steps){int64_t below=1;
bool fits=shape->ndim>=0&&shape->ndim<=OX_MAX_DIMS;for(int d=fits?shape->ndim-1:-1;fits&&d>=0;d--){steps[d]=below;
fits=shape->dim[d]>0||(shape->dim[d]==0&&ox_numel(indices)==0);if(fits&&d>0)fits=oxi_mul_i64(below,shape->dim[d]?shape->dim[d]:1,&below);
}
if(!fits)
(void)oxi_fail(OX_ERR_SHAPE,"unravel_index: no places of %s in the shape given",oxi_tensor_text(indices));
return fits;}
OX_API int64_t ox_unravel_index(ox_tensor*indices,ox_shape shape,ox_tensor**out,int64_t room){int64_t made=0,steps[OX_MAX_DIMS];
if(oxi_any_null("unravel_index",&indices,1)||!oxi_unravel_steps(indices,&shape,steps))return-1;
int64_t wanted=!out?0:room<shape.ndim?room:shape.ndim;for(;made<wanted;made++){oxi_work work=oxi_work_begin("unravel_index");
ox_tensor*place=ox_floor_divide(ox_cast(indices,OX_I64),ox_integer(steps[made]));out[made]=
oxi_work_end(&work,ox_remainder(place,ox_integer(shape.dim[made]?shape.dim[made]:1)));
if(!out[made])break;}
return oxi_results_end(out,made,wanted)<0?-1:shape.ndim;}
OX_API ox_tensor*ox_nonzero_static(ox_tensor*x,int64_t size,int64_t fill_value){if(oxi_any_null("nonzero_static",&x,1))return NULL;
if(size<0)return OXI_FAIL_NULL(OX_ERR_ARG,"nonzero_static: size %lld",(long long)size);
oxi_work work=oxi_work_begin("nonzero_static");ox_tensor*places=ox_nonzero(x);
ox_tensor*out=oxi_full("full",OX_SHAPE(size,x->ndim),(double)fill_value,OX_I64,ox_device_of(x));
int64_t count=!places||places->shape[0]<size?(places?places->shape[0]:0):size;
bool done=places&&out&&ox_copy_(ox_narrow(out,0,0,count),ox_narrow(places,0,0,count));
return oxi_work_end(&work,done?out:NULL);}
/* >>nn/tensors/order.c */
static ox_pair oxi_pair_end(oxi_work*work,ox_tensor*values,ox_tensor*indices){ox_pair pair={NULL,NULL};bool made=values&&indices;
if(made){pair.values=values;
pair.indices=indices;ox_keep(values);}
(void)oxi_work_end(work,made?indices:NULL);return pair;}
static bool oxi_lines(const char*name,ox_tensor**x,int dim,int*at){*at=0;if(dim==OX_FLATTENED||(*x)->ndim==0){
if(dim!=OX_FLATTENED&&oxi_wrap_dim(name,dim,(*x)->ndim)<0)return false;
*x=ox_reshape(*x,OX_SHAPE(-1));return*x!=NULL;}
*at=oxi_own_dim(name,*x,dim);return*at>=0;}
static ox_pair oxi_pair_of_number(ox_pair pair,bool number){if(!number||!pair.values)return pair;
ox_tensor*value=ox_reshape(pair.values,OX_ALL_DIMS),*index=ox_reshape(pair.indices,OX_ALL_DIMS);ox_release(pair.values);
ox_release(pair.indices);pair.values=value;pair.indices=index;return pair;}
static ox_tensor*oxi_starts_of_runs(ox_tensor*lines){int64_t count=lines->shape[0];ox_tensor*parts[2];
parts[0]=oxi_full("unique",OX_SHAPE(count>0?1:0),1,OX_BOOL,ox_device_of(lines));if(count<2)return parts[0];
ox_tensor*flat=ox_reshape(lines,OX_SHAPE(count,-1));parts[1]=
ox_any(ox_ne(ox_narrow(flat,0,1,count-1),ox_narrow(flat,0,0,count-1)),OX_DIMS(1),false);
return ox_cat(parts,2,0);}
static ox_tuple oxi_unique_runs(oxi_work*work,ox_tensor*lines,ox_tensor*sources){ox_tensor*starts=oxi_starts_of_runs(lines);
ox_tensor*places=starts?ox_reshape(ox_nonzero(starts),OX_SHAPE(-1)):NULL;
ox_tensor*run=places?ox_sub(ox_cumsum(ox_cast(starts,OX_I64),0),ox_integer(1)):NULL;if(!run)return oxi_tuple_end(work,NULL,NULL,NULL);
ox_tensor*parts[2],*values=ox_index_select(lines,0,places);parts[0]=places;
parts[1]=oxi_full("unique",OX_SHAPE(ox_numel(places)?1:0),(double)lines->shape[0],OX_I64,ox_device_of(lines));
ox_tensor*ends=ox_cat(parts,2,0);ox_tensor*lengths=ox_numel(places)?ox_sub(ox_narrow(ends,0,1,ox_numel(places)),places):places;
if(sources)run=ox_scatter(run,0,sources,run);
return oxi_tuple_end(work,values,run,lengths);}
static ox_tensor*oxi_sorted_lines(ox_tensor*lines,ox_tensor**order){ox_tensor*flat=ox_reshape(lines,OX_SHAPE(lines->shape[0],-1));
*order=oxi_ramp_beside(lines,lines->shape[0],OX_I64);for(int64_t c=flat?flat->shape[1]-1:-1;c>=0&&*order;c--){
ox_tensor*column=ox_index_select(ox_select(flat,1,c),0,*order);*order=ox_index_select(*order,0,ox_argsort(column,0,false));}
return ox_index_select(lines,0,*order);}
static ox_tuple oxi_unique(const char*name,ox_tensor*x,int dim,bool sorts){if(oxi_any_null(name,&x,1))return oxi_no_tuple();
oxi_work work=oxi_work_begin(name);int at=dim==OX_FLATTENED?0:oxi_own_dim(name,x,dim);if(at<0)return oxi_tuple_end(&work,NULL,NULL,NULL);
ox_tensor*lines=dim==OX_FLATTENED?ox_reshape(x,OX_SHAPE(-1)):ox_movedim(x,at,0),*order=NULL;
if(lines&&sorts&&ox_numel(lines))lines=oxi_sorted_lines(lines,&order);
if(!lines)return oxi_tuple_end(&work,NULL,NULL,NULL);
ox_tuple made=oxi_unique_runs(&work,lines,order);if(dim!=OX_FLATTENED&&at>0&&made.t[0]){
ox_tensor*turned=ox_contiguous(ox_movedim(made.t[0],0,at));ox_release(made.t[0]);made.t[0]=turned;}
if(dim==OX_FLATTENED&&made.t[1]){ox_tensor*shaped=ox_reshape(made.t[1],ox_shape_of(x));
ox_release(made.t[1]);made.t[1]=shaped;}
return made;}
OX_API ox_tuple ox_unique(ox_tensor*x,int dim){return oxi_unique("unique",x,dim,true);}
OX_API ox_tuple ox_unique_consecutive(ox_tensor*x,int dim){return oxi_unique("unique_consecutive",x,dim,false);}
static ox_pair oxi_running_extreme(const char*name,ox_tensor*x,int dim,bool largest){int at;bool number=x&&x->ndim==0;
if(oxi_any_null(name,&x,1))return oxi_no_pair();
oxi_work work=oxi_work_begin(name);if(!oxi_lines(name,&x,dim,&at))return oxi_pair_end(&work,NULL,NULL);
int64_t size=x->shape[at];ox_tensor*index=oxi_index_along(oxi_ramp_beside(x,size,OX_I64),ox_shape_of(x),at),*values=x;
for(int64_t span=1;span<size&&values&&index;span*=2){ox_tensor*late=ox_narrow(values,at,span,size-span),*v[2],*i[2];
ox_tensor*early=ox_narrow(values,at,0,size-span);ox_tensor*stays=largest?ox_ge(late,early):ox_le(late,early);
if(oxi_is_float(x->dtype))stays=ox_logical_or(stays,ox_isnan(late));
v[0]=ox_narrow(values,at,0,span);i[0]=ox_narrow(index,at,0,span);v[1]=ox_where(stays,late,early);
i[1]=ox_where(stays,ox_narrow(index,at,span,size-span),ox_narrow(index,at,0,size-span));values=ox_cat(v,2,at);index=ox_cat(i,2,at);}
ox_tensor*place=ox_contiguous(index);return oxi_pair_of_number(oxi_pair_end(&work,ox_gather(x,at,place),place),number);}
OX_API ox_pair ox_cummax(ox_tensor*x,int dim){return oxi_running_extreme("cummax",x,dim,true);}
OX_API ox_pair ox_cummin(ox_tensor*x,int dim){return oxi_running_extreme("cummin",x,dim,false);}
OX_API ox_tensor*ox_logcumsumexp(ox_tensor*x,int dim){if(oxi_any_null("logcumsumexp",&x,1))return NULL;
oxi_work work=oxi_work_begin("logcumsumexp");int at=oxi_wrap_dim("logcumsumexp",dim,x->ndim?x->ndim:1);
if(at<0)return oxi_work_end(&work,NULL);
int64_t size=x->ndim?x->shape[at]:1;ox_tensor*sums=ox_clone(oxi_wide(oxi_as_float(x)));for(int64_t span=1;span<size&&sums;span*=2){
ox_tensor*parts[2];parts[0]=ox_narrow(sums,at,0,span);
parts[1]=ox_logaddexp(ox_narrow(sums,at,span,size-span),ox_narrow(sums,at,0,size-span));sums=ox_cat(parts,2,at);}
return oxi_work_end(&work,sums&&oxi_is_float(x->dtype)?ox_cast(sums,x->dtype):sums);}
/* >>nn/class_logs.c */
#ifndef OXI_CLASS_LOGS_READ
#define OXI_CLASS_LOGS_READ ((int64_t)1<<18)
#define OXI_CLASS_LOGS_MADE ((int64_t)1<<24)
#endif
#ifndef OXI_CLASS_LOGS_FAR
#define OXI_CLASS_LOGS_FAR ((int64_t)1<<26)
#endif
typedef struct oxi_class_head{ox_tensor*x,*weight,*bias;
int64_t rows,chunk;}oxi_class_head;enum{OXI_CLASS_X,OXI_CLASS_TARGET,OXI_CLASS_MOST,OXI_CLASS_LOG,OXI_CLASS_WEIGHT,OXI_CLASS_BIAS};
static oxi_class_head oxi_class_head_of(ox_tensor*x,ox_tensor*weight,ox_tensor*bias,int64_t most){
oxi_class_head h={x,weight,bias,x->shape[0],x->shape[0]};int64_t each=weight?weight->shape[0]:h.rows?ox_numel(x)/h.rows:1;
bool host=ox_device_of(x)->like_cpu;if(each>0&&(host||weight))h.chunk=(host?most:OXI_CLASS_LOGS_FAR)/each+1;
if(h.chunk>h.rows||h.chunk==0)h.chunk=h.rows?h.rows:1;
return h;}
static ox_tensor*oxi_class_logits(const oxi_class_head*h,int64_t first,int64_t count){ox_tensor*x=ox_narrow(h->x,0,first,count);
return h->weight?ox_linear(x,h->weight,h->bias):x;}
static ox_tensor*oxi_class_rows(ox_tensor*t,int64_t first,int64_t count){return ox_unsqueeze(ox_narrow(t,0,first,count),1);}
static ox_status oxi_class_logs_chunk(const oxi_class_head*h,ox_tensor*logits,ox_tensor*target,
ox_tensor*const*out,int64_t first,int64_t from,int64_t count){ox_scope scope=ox_scope_begin();
ox_tensor*z=oxi_wide(ox_narrow(logits,0,from,count)),*values[3];values[0]=ox_amax(z,OX_DIMS(1),true);
values[1]=ox_logsumexp(ox_sub(z,values[0]),OX_DIMS(1),true);
values[2]=ox_sub(ox_gather(z,1,oxi_class_rows(target,first,count)),values[0]);values[2]=ox_sub(values[2],values[1]);
ox_status status=OX_OK;for(int k=0;k<3&&status==OX_OK;k++){bool whole=count==h->rows;
ox_tensor*to=whole?out[k]:ox_narrow(out[k],0,first,count);if(!ox_copy_(to,ox_squeeze(values[k],1)))status=ox_error();}
ox_scope_end(&scope);return status;}
static ox_status oxi_class_logs_forward(const oxi_class_head*h,ox_tensor*target,ox_tensor*const*out){ox_status status=OX_OK;
for(int64_t first=0;first<h->rows&&status==OX_OK;first+=h->chunk){ox_scope scope=ox_scope_begin();
int64_t count=h->rows-first<h->chunk?h->rows-first:h->chunk;ox_tensor*logits=oxi_class_logits(h,first,count);if(!logits)
status=ox_error();
else{oxi_class_head part=oxi_class_head_of(logits,NULL,NULL,OXI_CLASS_LOGS_READ);
for(int64_t at=0;at<count&&status==OX_OK;at+=part.chunk){int64_t some=count-at<part.chunk?count-at:part.chunk;
status=oxi_class_logs_chunk(h,logits,target,out,first+at,at,some);}}
ox_scope_end(&scope);}
return status;}
static ox_tensor*oxi_class_logits_back(ox_tensor*const*saved,ox_tensor*logits,ox_tensor*g,int64_t first,int64_t count){
ox_tensor*target=oxi_class_rows(saved[OXI_CLASS_TARGET],first,count);g=oxi_class_rows(g,first,count);
ox_tensor*in[4]={logits,oxi_class_rows(saved[OXI_CLASS_MOST],first,count),oxi_class_rows(saved[OXI_CLASS_LOG],first,count),g};
if(!logits||!g||!target||!in[1]||!in[2])return NULL;
const char*text="a b - c - exp d * neg ;";oxi_call call=oxi_call_of(OXI_OP_chain,in,4,NULL);call.attr.chain.program=oxi_chain_of(text);
if(ox_is_grad_enabled()||!call.attr.chain.program||!oxi_call_runs_there(&call)){
ox_tensor*z=oxi_wide(logits),*hot=z?oxi_constant_beside(z,ox_shape_of(z),0):NULL;
return ox_sub(ox_scatter_add(hot,1,target,oxi_as_dtype_of(g,z)),ox_mul(ox_softmax(z,1),g));}
const double none=0;
ox_tensor*own=ox_empty_like(logits);if(!own||oxi_chain_run(text,in,4,&none,0,&own)!=OX_OK)return NULL;
return ox_scatter_add_(own,1,target,oxi_as_dtype_of(g,own));}
static ox_status oxi_class_logs_add(ox_tensor**sum,ox_tensor*part,bool more){if(*sum)
part=ox_add_(*sum,part);
else if(more)
part=oxi_wide(part);
if(!part)return ox_error();
*sum=ox_keep(part);return OX_OK;}
static ox_status oxi_class_layer_back(const oxi_class_head*h,const ox_function_context*c,ox_tensor*own,int64_t first,int64_t count){
ox_tensor**grad=c->input_gradients,*w=h->weight;bool more=h->chunk<h->rows;if(!own)return ox_error();
if(c->wants[0]){ox_tensor*x=oxi_is_block(w->dtype)?oxi_times_blocks(own,w):ox_matmul(oxi_as_dtype_of(own,w),w);
if(more&&!grad[0])grad[0]=ox_keep(ox_empty_like(h->x));
if(more)
x=ox_copy_(ox_narrow(grad[0],0,first,count),x);
else
grad[0]=ox_keep(x);
if(!x)return ox_error();}
if(c->wants[1]){ox_tensor*x=oxi_as_dtype_of(ox_narrow(h->x,0,first,count),own),*t=ox_t(own);
bool adds=grad[1]&&own->dtype==grad[1]->dtype;if(adds&&!ox_addmm_(grad[1],t,x,1,1))return ox_error();
if(!adds&&oxi_class_logs_add(&grad[1],ox_matmul(t,x),more)!=OX_OK)return ox_error();}
if(!h->bias||!c->wants[2])return OX_OK;
return oxi_class_logs_add(&grad[2],ox_sum(own,OX_DIMS(0),false),more);}
static ox_status oxi_class_logs_backward(const ox_function_context*c){bool layer=c->user!=NULL,biased=c->user==(void*)(uintptr_t)2;
ox_tensor*const*saved=c->saved;oxi_class_head h=oxi_class_head_of(saved[OXI_CLASS_X],layer?saved[OXI_CLASS_WEIGHT]:NULL,
biased?saved[OXI_CLASS_BIAS]:NULL,OXI_CLASS_LOGS_MADE);
ox_status status=OX_OK;if(!layer||ox_is_grad_enabled())h.chunk=h.rows;
for(int64_t first=0;first<h.rows&&status==OX_OK;first+=h.chunk){ox_scope scope=ox_scope_begin();
int64_t count=h.rows-first<h.chunk?h.rows-first:h.chunk;ox_tensor*logits=oxi_class_logits(&h,first,count);
ox_tensor*own=oxi_class_logits_back(saved,logits,c->gradients[0],first,count);if(layer)
status=oxi_class_layer_back(&h,c,own,first,count);
else if(!(c->input_gradients[0]=ox_keep(own)))
status=ox_error();
ox_scope_end(&scope);}
return status;}
static ox_tensor*oxi_class_logs(ox_tensor*x,ox_tensor*weight,ox_tensor*bias,ox_tensor*target){
static const ox_function function={"cross_entropy",oxi_class_logs_backward,NULL};ox_tensor*out[3],*inputs[3]={x,weight,bias};
oxi_class_head h=oxi_class_head_of(x,weight,bias,OXI_CLASS_LOGS_MADE);ox_dtype dtype=x->dtype==OX_F64?OX_F64:OX_F32;
int layer=weight?bias?2:1:0;if(!weight)h.chunk=h.rows?h.rows:1;
bool enabled=ox_set_grad_enabled(false);ox_status status=OX_OK;ox_device*device=oxi_working_device(ox_device_of(x));for(int k=0;k<3;k++){
out[k]=oxi_full("cross_entropy",ox_shape_of(target),0,dtype,device);if(!out[k])status=ox_error();}
if(status==OX_OK)status=oxi_class_logs_forward(&h,target,out);
(void)ox_set_grad_enabled(enabled);if(status!=OX_OK)return NULL;
ox_tensor*saved[6]={x,target,out[0],out[1],weight,bias};
status=ox_attach_function(&function,(void*)(uintptr_t)layer,inputs,1 +layer,&out[2],1,saved,4 +layer);return status==OX_OK?out[2]:NULL;}
/* >>nn/class_sums.c */
typedef struct oxi_class_sum{double scale,shift;
bool biased,weighted,targeted;}oxi_class_sum;static ox_tensor*oxi_weighted(ox_tensor*terms,ox_tensor*weight){
return weight?ox_mul(terms,weight):terms;}
enum{OXI_SUM_X,OXI_SUM_LAYER,OXI_SUM_BIAS,OXI_SUM_TARGET,OXI_SUM_WEIGHT,OXI_SUM_OPERANDS};
static ox_tensor*oxi_class_shares(const oxi_class_sum*s,ox_tensor*const*in,const ox_tensor*beside,int64_t first,int64_t count){
ox_tensor*shares=oxi_constant_beside(beside,OX_SHAPE(beside->shape[1]),s->shift);if(in[OXI_SUM_TARGET]){
ox_tensor*part=ox_narrow(in[OXI_SUM_TARGET],0,first,count);part=part?ox_cast(part,beside->dtype):NULL;
shares=ox_add(ox_mul_number(part,s->scale),shares);}
return oxi_weighted(shares,in[OXI_SUM_WEIGHT]);}
static ox_status oxi_class_sums_forward(const oxi_class_sum*s,const oxi_class_head*h,ox_tensor*const*in,ox_tensor*out){
ox_status status=OX_OK;for(int64_t first=0;first<h->rows&&status==OX_OK;first+=h->chunk){ox_scope scope=ox_scope_begin();
int64_t count=h->rows-first<h->chunk?h->rows-first:h->chunk;ox_tensor*logits=oxi_class_logits(h,first,count);
ox_tensor*logs=logits?ox_log_softmax(oxi_wide(logits),1):NULL;ox_tensor*shares=logs?oxi_class_shares(s,in,logs,first,count):NULL;
ox_tensor*sums=shares?ox_sum(ox_mul(logs,shares),OX_DIMS(1),false):NULL;
if(!sums||!ox_copy_(ox_narrow(out,0,first,count),sums))status=ox_error();
ox_scope_end(&scope);}
return status;}
static ox_status oxi_class_sums_target(const oxi_class_sum*s,const ox_function_context*c,
ox_tensor*weight,ox_tensor*logs,ox_tensor*g,int at,int64_t first,bool whole){ox_tensor*target=c->saved[OXI_SUM_TARGET];
ox_tensor*own=oxi_weighted(ox_mul_number(ox_mul(logs,g),s->scale),weight);if(!own)return ox_error();
if(whole){c->input_gradients[at]=ox_keep(ox_cast(own,target->dtype));
return c->input_gradients[at]?OX_OK:ox_error();}
if(!c->input_gradients[at])c->input_gradients[at]=ox_keep(ox_empty_like(target));
return ox_copy_(ox_narrow(c->input_gradients[at],0,first,own->shape[0]),own)?OX_OK:ox_error();}
static ox_status oxi_class_sums_chunk(const oxi_class_sum*s,const oxi_class_head*h,
const ox_function_context*c,ox_tensor*const*in,int64_t first,int64_t count){int target_at=s->biased?3:2;
ox_tensor*g=oxi_class_rows(c->gradients[0],first,count);ox_tensor*logits=oxi_class_logits(h,first,count);
ox_tensor*logs=logits&&g?ox_log_softmax(oxi_wide(logits),1):NULL;ox_tensor*shares=logs?oxi_class_shares(s,in,logs,first,count):NULL;
if(!shares)return ox_error();
int classes=shares->ndim-1;ox_tensor*all=ox_mul(ox_exp(logs),ox_sum(shares,OX_DIMS(classes),true));
ox_tensor*own=ox_mul(ox_sub(shares,all),g);ox_status status=oxi_class_layer_back(h,c,own?oxi_as_dtype_of(own,logits):NULL,first,count);
if(status!=OX_OK||!s->targeted||!c->wants[target_at])return status;
return oxi_class_sums_target(s,c,in[OXI_SUM_WEIGHT],logs,g,target_at,first,h->chunk==h->rows);}
static void oxi_class_sums_operands(const oxi_class_sum*s,ox_tensor*const*saved,ox_tensor**in){in[OXI_SUM_X]=saved[OXI_SUM_X];
in[OXI_SUM_LAYER]=saved[OXI_SUM_LAYER];in[OXI_SUM_BIAS]=s->biased?saved[OXI_SUM_BIAS]:NULL;
in[OXI_SUM_TARGET]=s->targeted?saved[OXI_SUM_TARGET]:NULL;in[OXI_SUM_WEIGHT]=s->weighted?saved[OXI_SUM_WEIGHT]:NULL;}
static ox_status oxi_class_sums_backward(const ox_function_context*c){const oxi_class_sum*s=(const oxi_class_sum*)c->user;
ox_tensor*in[OXI_SUM_OPERANDS];oxi_class_sums_operands(s,c->saved,in);oxi_class_head h=
oxi_class_head_of(in[OXI_SUM_X],in[OXI_SUM_LAYER],in[OXI_SUM_BIAS],OXI_CLASS_LOGS_MADE);
ox_function_context own=*c;bool wants[4]={c->wants[0],c->wants[1],s->biased&&c->wants[2],false};ox_status status=OX_OK;
if(s->targeted)wants[s->biased?3:2]=c->wants[s->biased?3:2];
own.wants=wants;if(ox_is_grad_enabled())h.chunk=h.rows?h.rows:1;
for(int64_t first=0;first<h.rows&&status==OX_OK;first+=h.chunk){ox_scope scope=ox_scope_begin();
int64_t count=h.rows-first<h.chunk?h.rows-first:h.chunk;status=oxi_class_sums_chunk(s,&h,&own,in,first,count);ox_scope_end(&scope);}
return status;}
static void oxi_class_sums_drop(void*user){oxi_free(user,sizeof(oxi_class_sum));}
static ox_tensor*oxi_class_sums(ox_tensor*x,ox_tensor*layer,ox_tensor*bias,ox_tensor*target,ox_tensor*weight,double scale,double shift){
static const ox_function function={"cross_entropy",oxi_class_sums_backward,oxi_class_sums_drop};
ox_tensor*in[OXI_SUM_OPERANDS]={x,layer,bias,target,weight},*saved[OXI_SUM_OPERANDS],*inputs[4];
oxi_class_sum*s=(oxi_class_sum*)oxi_calloc(1,sizeof*s);int count=0;if(!s)return NULL;
s->scale=scale;s->shift=shift;s->biased=bias!=NULL;s->targeted=target!=NULL;s->weighted=weight!=NULL;
for(int i=0;i<OXI_SUM_OPERANDS;i++)saved[i]=in[i]?in[i]:x;
for(int i=0;i<OXI_SUM_WEIGHT;i++)
if(in[i])inputs[count++]=in[i];
oxi_class_head h=oxi_class_head_of(x,layer,bias,OXI_CLASS_LOGS_MADE);bool enabled=ox_set_grad_enabled(false);
ox_tensor*out=oxi_full("cross_entropy",OX_SHAPE(h.rows),0,x->dtype==OX_F64?OX_F64:OX_F32,oxi_working_device(ox_device_of(x)));
ox_status status=out?oxi_class_sums_forward(s,&h,in,out):ox_error();(void)ox_set_grad_enabled(enabled);if(status!=OX_OK){
oxi_class_sums_drop(s);return NULL;}
status=ox_attach_function(&function,s,inputs,count,&out,1,saved,OXI_SUM_OPERANDS);return status==OX_OK?out:NULL;}
/* >>nn/losses.c */
#define OXI_LOG_2_PI 1.8378770664093454
static ox_tensor*oxi_reduce_loss(ox_tensor*terms,ox_loss_reduction reduction){if(!terms)return NULL;
switch(reduction){case OX_LOSS_MEAN:return ox_mean(terms,OX_ALL_DIMS,false);case OX_LOSS_SUM:return ox_sum(terms,OX_ALL_DIMS,false);
case OX_LOSS_NONE:return terms;default:return OXI_FAIL_NULL(OX_ERR_ARG,"loss: no reduction %d",(int)reduction);}}
static ox_tensor*oxi_loss_end(oxi_work*work,ox_tensor*terms,ox_loss_reduction reduction){
return oxi_work_end(work,oxi_reduce_loss(terms,reduction));}
static ox_tensor*oxi_at_least(ox_tensor*x,double low){return ox_clamp(x,low,INFINITY);}
static ox_tensor*oxi_raise(ox_tensor*x,double low){ox_tensor*plain=x?ox_detach(x):NULL;
return ox_add(x,ox_sub(oxi_at_least(plain,low),plain));}
OX_API ox_tensor*ox_mse_loss(ox_tensor*input,ox_tensor*target,ox_loss_reduction reduction){oxi_work work=oxi_work_begin("mse_loss");
return oxi_loss_end(&work,ox_square(ox_sub(input,target)),reduction);}
OX_API ox_tensor*ox_l1_loss(ox_tensor*input,ox_tensor*target,ox_loss_reduction reduction){oxi_work work=oxi_work_begin("l1_loss");
return oxi_loss_end(&work,ox_abs(ox_sub(input,target)),reduction);}
static ox_tensor*oxi_huber_terms(ox_tensor*input,ox_tensor*target,double delta){
ox_tensor*size=ox_abs(ox_sub(input,target)),*most=ox_clamp(size,-INFINITY,delta);return ox_mul(most,ox_add_scaled(size,most,-0.5));}
OX_API ox_tensor*ox_huber_loss(ox_tensor*input,ox_tensor*target,ox_loss_reduction reduction,double delta){
if(!(delta>0))return OXI_FAIL_NULL(OX_ERR_ARG,"huber_loss: delta %g is not above 0",delta);
oxi_work work=oxi_work_begin("huber_loss");return oxi_loss_end(&work,oxi_huber_terms(input,target,delta),reduction);}
OX_API ox_tensor*ox_smooth_l1_loss(ox_tensor*input,ox_tensor*target,ox_loss_reduction reduction,double beta){
if(!(beta>=0))return OXI_FAIL_NULL(OX_ERR_ARG,"smooth_l1_loss: beta %g is below 0",beta);
oxi_work work=oxi_work_begin("smooth_l1_loss");ox_tensor*terms=
beta>0?ox_div_number(oxi_huber_terms(input,target,beta),beta):ox_abs(ox_sub(input,target));
return oxi_loss_end(&work,terms,reduction);}
typedef struct oxi_class_loss{ox_tensor*target;ox_tensor*counts;ox_tensor*weight;int dim;}oxi_class_loss;
static bool oxi_class_weight_fits(const ox_tensor*weight,const ox_tensor*input,int dim){
if(!weight||(weight->ndim==1&&weight->shape[0]==input->shape[dim]))return true;
(void)oxi_fail(OX_ERR_SHAPE,"loss: the weight %s of the classes of %s",oxi_tensor_text(weight),oxi_tensor_text(input));return false;}
static int oxi_class_dim(ox_tensor*input,ox_tensor*target,ox_tensor*weight){ox_tensor*both[2]={input,target};
int dim=input&&input->ndim>1;if(oxi_any_null("loss",both,2))return-1;
if(input->ndim==0||!oxi_same_sizes(target,input,dim)){
(void)oxi_fail(OX_ERR_SHAPE,"loss: classes %s of an input %s",oxi_tensor_text(target),oxi_tensor_text(input));return-1;}
return oxi_class_weight_fits(weight,input,dim)?dim:-1;}
static bool oxi_class_targets(oxi_class_loss*c,ox_tensor*target,ox_tensor*weight,int64_t ignored){
bool whole=target&&(target->dtype==OX_I64||target->dtype==OX_I32);memset(c,0,sizeof*c);
if(target&&!whole&&!oxi_is_int(target->dtype)&&target->dtype!=OX_BOOL){
(void)oxi_fail(OX_ERR_DTYPE,"loss: classes %s are not integers",oxi_tensor_text(target));return false;}
target=whole?target:ox_cast(target,OX_I64);c->counts=ox_ne_number(target,(double)ignored);
c->target=ox_masked_fill(target,ox_logical_not(c->counts),0);if(weight&&c->target){
ox_tensor*each=ox_index_select(weight,0,ox_flatten(c->target,0,-1));each=ox_reshape(each,ox_shape_of(c->target));
c->weight=ox_masked_fill(each,ox_logical_not(c->counts),0);if(!c->weight)return false;}
return c->target!=NULL;}
static bool oxi_class_loss_of(oxi_class_loss*c,ox_tensor*input,ox_tensor*target,ox_tensor*weight,int64_t ignored){
int dim=oxi_class_dim(input,target,weight);if(dim<0||!oxi_class_targets(c,target,weight,ignored))return false;
c->dim=dim;return true;}
static ox_tensor*oxi_nll_terms(const oxi_class_loss*c,ox_tensor*input){
ox_tensor*picked=ox_squeeze(ox_gather(input,c->dim,ox_unsqueeze(c->target,c->dim)),c->dim);
return oxi_weighted(ox_neg(ox_masked_fill(picked,ox_logical_not(c->counts),0)),c->weight);}
static ox_tensor*oxi_reduce_classes(const oxi_class_loss*c,ox_tensor*terms,ox_loss_reduction reduction){
if(reduction!=OX_LOSS_MEAN)return oxi_reduce_loss(terms,reduction);
ox_tensor*count=ox_sum(c->weight?c->weight:c->counts,OX_ALL_DIMS,false);return ox_div(ox_sum(terms,OX_ALL_DIMS,false),count);}
OX_API ox_tensor*ox_nll_loss(ox_tensor*input,ox_tensor*target,const ox_nll_loss_desc*desc){ox_nll_loss_desc plain;oxi_class_loss c;
memset(&plain,0,sizeof plain);if(!desc)desc=&plain;
oxi_work work=oxi_work_begin("nll_loss");ox_tensor*loss=NULL;
if(oxi_class_loss_of(&c,input,target,desc->weight,desc->ignores?desc->ignore_index:-100))
loss=oxi_reduce_classes(&c,oxi_nll_terms(&c,input),desc->reduction);
return oxi_work_end(&work,loss);}
static ox_tensor*oxi_weight_along(ox_tensor*weight,const ox_tensor*input,int dim){ox_shape shape=ox_shape_of(input);
for(int d=0;d<shape.ndim;d++)shape.dim[d]=d==dim?input->shape[dim]:1;
return weight?ox_reshape(weight,shape):NULL;}
static ox_tensor*oxi_as_loss_of(ox_tensor*loss,const ox_tensor*input,const ox_tensor*weight){
if(!loss||(weight&&weight->dtype!=input->dtype))return loss;
return ox_cast(loss,input->dtype);}
static ox_tensor*oxi_class_terms(const oxi_class_loss*c,ox_tensor*input,ox_tensor*layer,ox_tensor*bias){bool one=input->ndim==1;
ox_tensor*x=one?ox_unsqueeze(input,0):input;ox_tensor*target=one?ox_unsqueeze(c->target,0):c->target;
ox_tensor*logs=x&&target?oxi_class_logs(x,layer,bias,target):NULL;if(one)logs=ox_squeeze(logs,0);
return oxi_weighted(ox_neg(ox_masked_fill(logs,ox_logical_not(c->counts),0)),c->weight);}
static ox_tensor*oxi_cross_entropy_of_classes(ox_tensor*input,ox_tensor*target,const ox_cross_entropy_desc*desc){oxi_class_loss c;
double smoothing=desc->label_smoothing;
int64_t ignored=desc->ignores?desc->ignore_index:-100;if(!oxi_class_loss_of(&c,input,target,desc->weight,ignored))return NULL;
if(!(smoothing>0)){ox_tensor*loss=oxi_reduce_classes(&c,oxi_class_terms(&c,input,NULL,NULL),desc->reduction);
return oxi_as_loss_of(loss,input,desc->weight);}
ox_tensor*logs=ox_log_softmax(input,c.dim),*terms=oxi_nll_terms(&c,logs);
ox_tensor*all=oxi_weighted(logs,oxi_weight_along(desc->weight,input,c.dim));all=ox_sum(all,OX_DIMS(c.dim),false);
all=ox_masked_fill(all,ox_logical_not(c.counts),0);double share=smoothing/(double)input->shape[c.dim];
terms=ox_add_scaled(ox_mul_number(terms,1 -smoothing),all,-share);return oxi_reduce_classes(&c,terms,desc->reduction);}
static ox_tensor*oxi_cross_entropy_of_probabilities(ox_tensor*input,ox_tensor*target,const ox_cross_entropy_desc*desc){
int dim=input->ndim>1;double smoothing=desc->label_smoothing,classes=(double)input->shape[dim];
if(desc->ignores)return OXI_FAIL_NULL(OX_ERR_ARG,"loss: classes can be ignored, probabilities cannot");
if(!oxi_is_float(target->dtype))
return OXI_FAIL_NULL(OX_ERR_DTYPE,"loss: probabilities %s are not floats",oxi_tensor_text(target));
if(!oxi_class_weight_fits(desc->weight,input,dim))return NULL;
if(smoothing>0)target=ox_add_number(ox_mul_number(target,1 -smoothing),smoothing/classes);
ox_tensor*products=ox_mul(ox_log_softmax(input,dim),target);products=oxi_weighted(products,oxi_weight_along(desc->weight,input,dim));
ox_tensor*terms=ox_neg(ox_sum(products,OX_DIMS(dim),false));return oxi_reduce_loss(terms,desc->reduction);}
OX_API ox_tensor*ox_cross_entropy(ox_tensor*input,ox_tensor*target,const ox_cross_entropy_desc*desc){ox_cross_entropy_desc plain;
ox_tensor*both[2]={input,target},*loss;memset(&plain,0,sizeof plain);if(!desc)desc=&plain;
if(oxi_any_null("cross_entropy",both,2))return NULL;
if(!(desc->label_smoothing>=0&&desc->label_smoothing<=1))
return OXI_FAIL_NULL(OX_ERR_ARG,"cross_entropy: label_smoothing %g is not in [0, 1]",desc->label_smoothing);
oxi_work work=oxi_work_begin("cross_entropy");if(input->ndim>0&&oxi_same_sizes(target,input,-1))
loss=oxi_cross_entropy_of_probabilities(input,target,desc);
else
loss=oxi_cross_entropy_of_classes(input,target,desc);
return oxi_work_end(&work,loss);}
static int64_t oxi_outer_count(const ox_tensor*t,int last){int64_t count=1;for(int d=0;d<t->ndim-last;d++)count*=t->shape[d];
return count;}
static bool oxi_layer_fits(ox_tensor*x,ox_tensor*layer,ox_tensor*target,ox_tensor*bias,ox_tensor*weight,bool*of_classes){
bool fits=x->ndim>0&&layer->ndim>=2&&layer->shape[layer->ndim-1]==x->shape[x->ndim-1]&&
x->ndim+layer->ndim-2<=OX_MAX_DIMS&&(layer->ndim==2||x->ndim>1);
ox_tensor like=oxi_borrowed(x);like.ndim--;for(int d=1;d<layer->ndim-1&&fits;d++)like.shape[like.ndim++]=layer->shape[d];
*of_classes=fits&&oxi_same_sizes(target,&like,-1);if(fits&&!*of_classes)
fits=target->ndim>=x->ndim&&target->shape[x->ndim-1]==layer->shape[0]&&oxi_same_sizes(&like,target,x->ndim-1);
if(fits&&bias)fits=oxi_same_sizes(bias,layer,layer->ndim-1);
if(fits)return oxi_class_weight_fits(weight,layer,0);
(void)oxi_fail(OX_ERR_SHAPE,"loss: targets %s of %s through a layer %s",oxi_tensor_text(target),
oxi_tensor_text(x),oxi_tensor_text(layer));
return false;}
static ox_tensor*oxi_linear_terms(const oxi_class_loss*c,ox_tensor*x,ox_tensor*layer,ox_tensor*bias,
ox_tensor*target,const ox_cross_entropy_desc*desc){double smoothing=desc->label_smoothing,share=smoothing/(double)layer->shape[0];
if(!c)return ox_neg(oxi_class_sums(x,layer,bias,target,desc->weight,1 -smoothing,share));
ox_tensor*terms=oxi_class_terms(c,x,layer,bias);if(!terms||smoothing==0)return terms;
ox_tensor*all=oxi_class_sums(x,layer,bias,NULL,desc->weight,0,share);all=all?ox_masked_fill(all,ox_logical_not(c->counts),0):NULL;
return ox_sub(ox_mul_number(terms,1 -smoothing),all);}
static ox_tensor*oxi_column(ox_tensor*t,int64_t j){return t?ox_select(t,1,j):NULL;}
static ox_tensor*oxi_layered_terms(const oxi_class_loss*c,ox_tensor*x,ox_tensor*layer,ox_tensor*bias,
ox_tensor*target,const ox_cross_entropy_desc*desc){int64_t layers=layer->shape[1];
size_t bytes;ox_tensor**list=layers<=INT32_MAX?oxi_list_new(layers,&bytes):NULL,*made=NULL;bool done=list&&layers>0;
for(int64_t j=0;j<layers&&done;j++){oxi_class_loss own;
if(c){own=*c;
own.target=oxi_column(c->target,j);own.counts=oxi_column(c->counts,j);own.weight=oxi_column(c->weight,j);}
ox_tensor*probabilities=c?NULL:ox_select(target,2,j);list[j]=oxi_linear_terms(c?&own:NULL,x,ox_select(layer,1,j),oxi_column(bias,j),
probabilities,desc);
done=list[j]!=NULL;}
if(done)made=ox_stack(list,(int)layers,1);
if(list&&layers==0)made=oxi_constant_beside(x,OX_SHAPE(x->shape[0],0),0);
if(list)oxi_free(list,bytes?bytes:sizeof*list);
return made;}
static ox_tensor*oxi_linear_cross_entropy(ox_tensor*x,ox_tensor*layer,ox_tensor*target,ox_tensor*bias,
bool of_classes,const ox_cross_entropy_desc*desc){oxi_class_loss c;
ox_tensor*loss;if(!of_classes&&desc->ignores)
return OXI_FAIL_NULL(OX_ERR_ARG,"loss: classes can be ignored, probabilities cannot");
if(of_classes&&!oxi_class_targets(&c,target,desc->weight,desc->ignores?desc->ignore_index:-100))
return NULL;
loss=oxi_layered_terms(of_classes?&c:NULL,x,layer,bias,target,desc);if(!loss)return NULL;
loss=of_classes?oxi_reduce_classes(&c,loss,desc->reduction):oxi_reduce_loss(loss,desc->reduction);
return oxi_as_loss_of(loss,x,desc->weight);}
OX_API ox_tensor*ox_linear_cross_entropy(ox_tensor*x,ox_tensor*layer,ox_tensor*target,ox_tensor*bias,const ox_cross_entropy_desc*desc){
ox_cross_entropy_desc plain;ox_tensor*all[3]={x,layer,target},*loss=NULL;bool of_classes;memset(&plain,0,sizeof plain);
if(!desc)desc=&plain;
if(oxi_any_null("linear_cross_entropy",all,3))return NULL;
if(!(desc->label_smoothing>=0&&desc->label_smoothing<=1))
return OXI_FAIL_NULL(OX_ERR_ARG,"linear_cross_entropy: label_smoothing %g is not in [0, 1]",desc->label_smoothing);
oxi_work work=oxi_work_begin("linear_cross_entropy");if(oxi_layer_fits(x,layer,target,bias,desc->weight,&of_classes)){
int64_t rows=oxi_outer_count(x,1),classes=layer->shape[0],layers=1;for(int d=1;d<layer->ndim-1;d++)layers*=layer->shape[d];
ox_shape shape=ox_shape_of(target);for(int d=x->ndim-1;!of_classes&&d+1<shape.ndim;d++)shape.dim[d]=shape.dim[d+1];
if(!of_classes)shape.ndim--;
ox_tensor*flat=ox_reshape(x,OX_SHAPE(rows,x->shape[x->ndim-1]));
layer=ox_reshape(layer,OX_SHAPE(classes,layers,layer->shape[layer->ndim-1]));if(bias)bias=ox_reshape(bias,OX_SHAPE(classes,layers));
target=ox_reshape(target,of_classes?OX_SHAPE(rows,layers):OX_SHAPE(rows,classes,layers));if(flat&&layer&&target)
loss=oxi_linear_cross_entropy(flat,layer,target,bias,of_classes,desc);
if(loss&&desc->reduction==OX_LOSS_NONE)loss=ox_reshape(loss,shape);}
return oxi_work_end(&work,loss);}
static ox_tensor*oxi_cut_log(ox_tensor*x,bool of_the_rest){ox_tensor*end=ox_eq_number(x,of_the_rest?1:0);
ox_tensor*inside=ox_masked_fill(x,end,of_the_rest?0:1);ox_tensor*log=of_the_rest?ox_log1p(ox_neg(inside)):ox_log(inside);
return oxi_at_least(ox_masked_fill(log,end,-100),-100);}
OX_API ox_tensor*ox_binary_cross_entropy(ox_tensor*input,ox_tensor*target,ox_tensor*weight,ox_loss_reduction reduction){
ox_tensor*both[2]={input,target};if(oxi_any_null("binary_cross_entropy",both,2))return NULL;
if(!oxi_same_sizes(target,input,-1))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"binary_cross_entropy: a target %s of an input %s",oxi_tensor_text(target),oxi_tensor_text(input));
oxi_work work=oxi_work_begin("binary_cross_entropy");ox_tensor*rest=ox_rsub_number(target,1),*at_1=oxi_cut_log(input,true);
ox_tensor*terms=ox_add(ox_mul(target,oxi_cut_log(input,false)),ox_mul(rest,at_1));
return oxi_loss_end(&work,oxi_weighted(ox_neg(terms),weight),reduction);}
static ox_tensor*oxi_logit_terms(ox_tensor*input,ox_tensor*target,ox_tensor*pos_weight){
ox_tensor*log=ox_logsigmoid(input),*rest=ox_mul(ox_rsub_number(target,1),input);
if(pos_weight)log=ox_mul(log,ox_add_number(ox_mul(ox_sub_number(pos_weight,1),target),1));
return ox_sub(rest,log);}
OX_API ox_tensor*ox_binary_cross_entropy_with_logits(ox_tensor*input,ox_tensor*target,ox_tensor*weight,
ox_tensor*pos_weight,ox_loss_reduction reduction){ox_tensor*both[2]={input,target};
if(oxi_any_null("binary_cross_entropy_with_logits",both,2))return NULL;
if(!oxi_same_sizes(target,input,-1))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"binary_cross_entropy_with_logits: a target %s of an input %s",
oxi_tensor_text(target),oxi_tensor_text(input));
oxi_work work=oxi_work_begin("binary_cross_entropy_with_logits");
return oxi_loss_end(&work,oxi_weighted(oxi_logit_terms(input,target,pos_weight),weight),reduction);}
static ox_tensor*oxi_t_log_t(ox_tensor*t){ox_tensor*none=ox_eq_number(t,0),*inside=ox_masked_fill(t,none,1);
return ox_mul(t,ox_log(inside));}
OX_API ox_tensor*ox_kl_div(ox_tensor*input,ox_tensor*target,ox_loss_reduction reduction,bool log_target){
ox_tensor*both[2]={input,target};if(oxi_any_null("kl_div",both,2))return NULL;
oxi_work work=oxi_work_begin("kl_div");ox_tensor*terms=log_target?ox_mul(ox_exp(target),ox_sub(target,input))
:ox_sub(oxi_t_log_t(target),ox_mul(target,input));
if(reduction!=OX_LOSS_BATCHMEAN)return oxi_loss_end(&work,terms,reduction);
ox_tensor*sum=oxi_reduce_loss(terms,OX_LOSS_SUM);return oxi_work_end(&work,input->ndim?ox_div_number(sum,(double)input->shape[0]):sum);}
static ox_tensor*oxi_variance_beside(ox_tensor*variance,const ox_tensor*input){int ndim=input->ndim;
bool fits=variance->ndim==ndim||variance->ndim==0;for(int d=0;d<ndim&&fits&&variance->ndim;d++)
fits=variance->shape[d]==input->shape[d]||variance->shape[d]==1;
if(fits)
return variance->is_number?ox_mul(variance,ox_ones_like(input)):variance;
if(ndim>0&&oxi_same_sizes(variance,input,ndim-1))return ox_unsqueeze(variance,-1);
return OXI_FAIL_NULL(OX_ERR_SHAPE,"gaussian_nll_loss: variances %s of an input %s",oxi_tensor_text(variance),oxi_tensor_text(input));}
OX_API ox_tensor*ox_gaussian_nll_loss(ox_tensor*input,ox_tensor*target,ox_tensor*variance,bool full,
double eps,ox_loss_reduction reduction){ox_tensor*all[3]={input,target,variance};
if(oxi_any_null("gaussian_nll_loss",all,3))return NULL;
oxi_work work=oxi_work_begin("gaussian_nll_loss");ox_tensor*raised=oxi_raise(oxi_variance_beside(variance,input),eps);
ox_tensor*ratio=ox_div(ox_square(ox_sub(input,target)),raised);ox_tensor*terms=ox_mul_number(ox_add(ox_log(raised),ratio),0.5);
if(full)terms=ox_add_number(terms,0.5*OXI_LOG_2_PI);
return oxi_loss_end(&work,terms,reduction);}
static ox_tensor*oxi_stirling(ox_tensor*target){ox_tensor*small=ox_le_number(target,1),*t=ox_masked_fill(target,small,1);
ox_tensor*log=ox_log(t),*sum=ox_add_scaled(ox_sub(ox_mul(t,log),t),log,0.5);
return ox_masked_fill(ox_add_number(sum,0.5*OXI_LOG_2_PI),small,0);}
OX_API ox_tensor*ox_poisson_nll_loss(ox_tensor*input,ox_tensor*target,bool log_input,bool full,double eps,ox_loss_reduction reduction){
oxi_work work=oxi_work_begin("poisson_nll_loss");ox_tensor*rate=log_input?ox_exp(input):input;
ox_tensor*log=log_input?input:ox_log(ox_add_number(input,eps));ox_tensor*terms=ox_sub(rate,ox_mul(target,log));
if(full)terms=ox_add(terms,oxi_stirling(target));
return oxi_loss_end(&work,terms,reduction);}
static ox_tensor*oxi_unless(ox_tensor*x,ox_tensor*target,double unless){return ox_where(ox_eq_number(target,unless),ox_number(0),x);}
OX_API ox_tensor*ox_hinge_embedding_loss(ox_tensor*input,ox_tensor*target,double margin,ox_loss_reduction reduction){
oxi_work work=oxi_work_begin("hinge_embedding_loss");ox_tensor*apart=oxi_at_least(ox_rsub_number(input,margin),0);
ox_tensor*terms=ox_add(oxi_unless(apart,target,1),oxi_unless(input,target,-1));return oxi_loss_end(&work,terms,reduction);}
OX_API ox_tensor*ox_margin_ranking_loss(ox_tensor*input1,ox_tensor*input2,ox_tensor*target,double margin,ox_loss_reduction reduction){
oxi_work work=oxi_work_begin("margin_ranking_loss");ox_tensor*order=ox_mul(ox_neg(target),ox_sub(input1,input2));
return oxi_loss_end(&work,oxi_at_least(ox_add_number(order,margin),0),reduction);}
static ox_tensor*oxi_cosine(ox_tensor*a,ox_tensor*b){ox_tensor*sizes[2]={ox_square(a),ox_square(b)};
for(int i=0;i<2;i++)sizes[i]=ox_add_number(ox_sum(sizes[i],OX_DIMS(-1),false),1e-12);
return ox_div(ox_sum(ox_mul(a,b),OX_DIMS(-1),false),ox_sqrt(ox_mul(sizes[0],sizes[1])));}
OX_API ox_tensor*ox_cosine_embedding_loss(ox_tensor*input1,ox_tensor*input2,ox_tensor*target,double margin,ox_loss_reduction reduction){
ox_tensor*all[3]={input1,input2,target};if(oxi_any_null("cosine_embedding_loss",all,3))return NULL;
if(target->ndim>1||input1->ndim!=target->ndim+1||input2->ndim!=input1->ndim)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"cosine_embedding_loss: targets %s of %s and %s",
oxi_tensor_text(target),oxi_tensor_text(input1),oxi_tensor_text(input2));
oxi_work work=oxi_work_begin("cosine_embedding_loss");ox_tensor*cosine=oxi_cosine(input1,input2),*pull=ox_rsub_number(cosine,1);
ox_tensor*push=oxi_at_least(ox_sub_number(cosine,margin),0);
ox_tensor*none=ox_number(0),*terms=ox_where(ox_eq_number(target,1),pull,none);
return oxi_loss_end(&work,ox_add(terms,ox_where(ox_eq_number(target,-1),push,none)),reduction);}
OX_API ox_tensor*ox_soft_margin_loss(ox_tensor*input,ox_tensor*target,ox_loss_reduction reduction){
oxi_work work=oxi_work_begin("soft_margin_loss");return oxi_loss_end(&work,ox_neg(ox_logsigmoid(ox_mul(input,target))),reduction);}
OX_API ox_tensor*ox_pairwise_distance(ox_tensor*x1,ox_tensor*x2,double p,double eps,bool keepdim){
oxi_work work=oxi_work_begin("pairwise_distance");ox_tensor*apart=ox_add_number(ox_sub(x1,x2),eps);
return oxi_work_end(&work,ox_norm(apart,p,OX_DIMS(-1),keepdim));}
OX_API ox_tensor*ox_triplet_margin_loss(ox_tensor*anchor,ox_tensor*positive,ox_tensor*negative,const ox_triplet_margin_desc*desc){
ox_triplet_margin_desc d;memset(&d,0,sizeof d);if(desc)d=*desc;
if(d.margin==0)d.margin=1;
if(d.p==0)d.p=2;
if(d.eps==0)d.eps=1e-6;
if(!(d.margin>0))
return OXI_FAIL_NULL(OX_ERR_ARG,"triplet_margin_loss: margin %g is not above 0",d.margin);
oxi_work work=oxi_work_begin("triplet_margin_loss");ox_tensor*near=ox_pairwise_distance(anchor,positive,d.p,d.eps,false);
ox_tensor*far=ox_pairwise_distance(anchor,negative,d.p,d.eps,false);
if(d.swap)far=ox_minimum(far,ox_pairwise_distance(positive,negative,d.p,d.eps,false));
ox_tensor*terms=oxi_at_least(ox_add_number(ox_sub(near,far),d.margin),0);return oxi_loss_end(&work,terms,d.reduction);}
OX_API ox_tensor*ox_multi_margin_loss(ox_tensor*input,ox_tensor*target,double p,double margin,
ox_tensor*weight,ox_loss_reduction reduction){oxi_class_loss c;
if(p!=1&&p!=2)return OXI_FAIL_NULL(OX_ERR_ARG,"multi_margin_loss: p %g is not 1 or 2",p);
if(input&&input->ndim>2)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"multi_margin_loss: an input %s",oxi_tensor_text(input));
oxi_work work=oxi_work_begin("multi_margin_loss");if(input&&input->ndim==0)input=ox_unsqueeze(input,0);
if(input&&target&&input->ndim==1&&target->ndim==1)target=ox_squeeze(target,0);
if(!oxi_class_loss_of(&c,input,target,weight,INT64_MIN))return oxi_work_end(&work,NULL);
ox_tensor*own=ox_unsqueeze(c.target,c.dim),*right=ox_gather(input,c.dim,own);
ox_tensor*over=oxi_at_least(ox_add_number(ox_sub(input,right),margin),0);if(p==2)over=ox_square(over);
over=ox_scatter(over,c.dim,own,right?ox_zeros_like(right):NULL);ox_tensor*terms=ox_mean(over,OX_DIMS(c.dim),false);
return oxi_loss_end(&work,oxi_weighted(terms,c.weight),reduction);}
OX_API ox_tensor*ox_multilabel_margin_loss(ox_tensor*input,ox_tensor*target,ox_loss_reduction reduction){
ox_tensor*both[2]={input,target};if(oxi_any_null("multilabel_margin_loss",both,2))return NULL;
if(input->ndim>2||!oxi_same_sizes(target,input,-1))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"multilabel_margin_loss: a target %s of an input %s",oxi_tensor_text(target),oxi_tensor_text(input));
oxi_work work=oxi_work_begin("multilabel_margin_loss");if(input->ndim==0){input=ox_unsqueeze(input,0);
target=ox_reshape(target,OX_SHAPE(1));}
ox_tensor*labels=ox_cast(target,OX_I64),*listed,*is_label,*over;
listed=ox_cast(ox_cumprod(ox_cast(ox_ge_number(labels,0),OX_I64),-1),OX_BOOL);labels=ox_masked_fill(labels,ox_logical_not(listed),0);
is_label=labels?ox_scatter_add(ox_zeros_like(labels),-1,labels,ox_cast(listed,OX_I64)):NULL;over=
ox_sub(ox_unsqueeze(input,-2),ox_unsqueeze(ox_gather(input,-1,labels),-1));
over=oxi_at_least(ox_add_number(over,1),0);
ox_tensor*counts=ox_logical_and(ox_unsqueeze(listed,-1),ox_eq_number(ox_unsqueeze(is_label,-2),0));
over=ox_sum(ox_where(counts,over,ox_number(0)),OX_DIMS(-2,-1),false);
ox_tensor*terms=ox_div_number(over,(double)input->shape[input->ndim-1]);
return oxi_loss_end(&work,terms,reduction);}
OX_API ox_tensor*ox_multilabel_soft_margin_loss(ox_tensor*input,ox_tensor*target,ox_tensor*weight,ox_loss_reduction reduction){
oxi_work work=oxi_work_begin("multilabel_soft_margin_loss");ox_tensor*terms=oxi_weighted(oxi_logit_terms(input,target,NULL),weight);
return oxi_loss_end(&work,ox_mean(terms,OX_DIMS(-1),false),reduction);}
static ox_tensor*oxi_expand_with(ox_tensor*t,const ox_tensor*other){if(!t||!other)return t;
ox_shape shape=ox_shape_of(t->ndim<other->ndim?other:t);for(int d=1;d<=shape.ndim;d++){int64_t own=d<=t->ndim?t->shape[t->ndim-d]:1;
shape.dim[shape.ndim-d]=own==1&&d<=other->ndim?other->shape[other->ndim-d]:own;}
return ox_expand(t,shape);}
OX_API ox_tensor*ox_cosine_similarity(ox_tensor*x1,ox_tensor*x2,int dim,double eps){oxi_work work=oxi_work_begin("cosine_similarity");
ox_tensor*first=x1;x1=oxi_expand_with(x1,x2);x2=oxi_expand_with(x2,first);
ox_tensor*size_1=oxi_raise(ox_norm(x1,2,OX_DIMS(dim),true),eps);ox_tensor*size_2=oxi_raise(ox_norm(x2,2,OX_DIMS(dim),true),eps);
ox_tensor*products=ox_mul(ox_div(x1,size_1),ox_div(x2,size_2));return oxi_work_end(&work,ox_sum(products,OX_DIMS(dim),false));}
/* >>nn/ctc.c */
static ox_tensor*oxi_ctc_labels(ox_tensor*targets,ox_tensor*lengths,int64_t samples,int64_t blank){
int64_t longest=targets->ndim==2?targets->shape[1]:0;
if(targets->ndim==1&&samples)longest=ox_item_int(ox_amax(lengths,OX_ALL_DIMS,false));
ox_device*device=oxi_working_device(ox_device_of(targets));ox_tensor*labels=
oxi_full("ctc_loss",OX_SHAPE(samples,2*longest+1),(double)blank,OX_I64,device);
if(!labels||longest==0||samples==0)return labels;
if(targets->ndim==1){ox_tensor*starts=ox_unsqueeze(ox_sub(ox_cumsum(lengths,0),lengths),1);
ox_tensor*places=ox_add(starts,oxi_ramp_beside(targets,longest,OX_I64));places=ox_minimum(places,ox_integer(targets->shape[0]-1));
targets=ox_reshape(ox_index_select(targets,0,ox_reshape(places,OX_SHAPE(-1))),OX_SHAPE(samples,-1));}
return ox_copy_(ox_slice(labels,1,1,OX_END,2),ox_cast(targets,OX_I64))?labels:NULL;}
static ox_tensor*oxi_ctc_shifted(ox_tensor*x,int64_t by){ox_tensor*parts[2];if(!x)return NULL;
int64_t rest=x->shape[1]>by?x->shape[1]-by:0;parts[0]=oxi_constant_beside(x,OX_SHAPE(x->shape[0],x->shape[1]-rest),-INFINITY);
parts[1]=ox_narrow(x,1,0,rest);return parts[0]&&parts[1]?ox_cat(parts,2,1):NULL;}
static ox_tensor*oxi_ctc_samples(ox_tensor*log_probs,ox_tensor*labels,ox_tensor*times,ox_tensor*lengths,int64_t blank){
int64_t width=labels->shape[1];ox_tensor*parts[2],*before;parts[0]=ox_full_like(ox_narrow(labels,1,0,width>2?2:width),(double)blank);
parts[1]=ox_narrow(labels,1,0,width>2?width-2:0);before=parts[0]&&parts[1]?ox_cat(parts,2,1):NULL;
ox_tensor*skips=ox_logical_and(ox_ne(labels,ox_integer(blank)),ox_ne(labels,before));
ox_tensor*ramp=oxi_ramp_beside(labels,width,OX_I64),*state=NULL;for(int64_t t=0;t<log_probs->shape[0];t++){
ox_tensor*emitted=ox_gather(ox_select(log_probs,0,t),1,labels),*next;if(t==0){
next=ox_where(ox_lt_number(ramp,2),emitted,ox_number(-INFINITY));}else{next=ox_logaddexp(state,oxi_ctc_shifted(state,1));
next=ox_logaddexp(next,ox_where(skips,oxi_ctc_shifted(state,2),ox_number(-INFINITY)));next=ox_add(next,emitted);}
ox_tensor*runs=ox_unsqueeze(ox_gt_number(times,(double)t),1);
state=state?ox_where(runs,next,state):ox_where(runs,next,ox_where(ox_eq_number(ramp,0),ox_number(0),ox_number(-INFINITY)));
if(!state)return NULL;}
ox_tensor*last=ox_unsqueeze(ox_mul(lengths,ox_integer(2)),1);ox_tensor*one=ox_gather(state,1,last),
*two=ox_gather(state,1,ox_maximum(ox_sub(last,ox_integer(1)),ox_integer(0)));
two=ox_where(ox_eq_number(last,0),ox_number(-INFINITY),two);return ox_neg(ox_squeeze(ox_logaddexp(one,two),1));}
static ox_tensor*oxi_ctc_normalizer(ox_tensor*log_probs,ox_tensor*times){
ox_tensor*ramp=oxi_ramp_beside(log_probs,log_probs->shape[0],OX_I64);ox_tensor*runs=ox_unsqueeze(ox_lt(ox_unsqueeze(ramp,1),times),2);
ox_tensor*sum=ox_sum(ox_where(runs,ox_exp(log_probs),ox_number(0)),OX_DIMS(0,2),false);return ox_sub(sum,ox_detach(sum));}
OX_API ox_tensor*ox_ctc_loss(ox_tensor*log_probs,ox_tensor*targets,ox_tensor*input_lengths,
ox_tensor*target_lengths,int64_t blank,ox_loss_reduction reduction,bool zero_infinity){
ox_tensor*in[4]={log_probs,targets,input_lengths,target_lengths};if(oxi_any_null("ctc_loss",in,4))return NULL;
oxi_work work=oxi_work_begin("ctc_loss");bool single=log_probs->ndim==2;ox_tensor*all=single?ox_unsqueeze(log_probs,1):log_probs;
ox_tensor*times=ox_reshape(ox_cast(input_lengths,OX_I64),OX_SHAPE(-1));
ox_tensor*lengths=ox_reshape(ox_cast(target_lengths,OX_I64),OX_SHAPE(-1));if(!all||!times||!lengths)return oxi_work_end(&work,NULL);
int64_t samples=all->ndim==3?all->shape[1]:-1;if(all->ndim!=3||times->shape[0]!=samples||lengths->shape[0]!=samples||targets->ndim>2||
targets->ndim<1||(targets->ndim==2&&targets->shape[0]!=samples)||blank<0||blank>=all->shape[2]||all->shape[0]<1){
(void)oxi_fail(OX_ERR_SHAPE,"ctc_loss: targets %s, lengths %s, %s, blank %lld of %s",
oxi_tensor_text(targets),oxi_tensor_text(input_lengths),oxi_tensor_text(target_lengths),(long long)blank,oxi_tensor_text(log_probs));
return oxi_work_end(&work,NULL);}
ox_tensor*labels=oxi_ctc_labels(targets,lengths,samples,blank);
ox_tensor*loss=labels?oxi_ctc_samples(all,labels,times,lengths,blank):NULL;
if(zero_infinity&&loss)loss=ox_where(ox_eq_number(loss,INFINITY),ox_number(0),loss);
loss=ox_add(loss,oxi_ctc_normalizer(all,times));if(reduction==OX_LOSS_MEAN)loss=ox_div(loss,ox_maximum(lengths,ox_integer(1)));
if(single&&reduction==OX_LOSS_NONE)loss=ox_reshape(loss,OX_SCALAR_SHAPE);
return oxi_loss_end(&work,loss,reduction);}
/* >>nn/images/pad.c */
#define OXI_PAD_MOST ((int64_t)1<<60)
typedef enum oxi_pad_mode{OXI_PAD_CONSTANT,OXI_PAD_REFLECT,OXI_PAD_REPLICATE,OXI_PAD_CIRCULAR}oxi_pad_mode;
static int oxi_mode_word(const char*name,const char*const*words,int count,const char*given){for(int i=0;i<count;i++)
if(!given||strcmp(given,words[i])==0)return i;
(void)oxi_fail(OX_ERR_ARG,"%s: no mode \"%s\"",name,given);return-1;}
static ox_tensor*oxi_pad_constant(ox_tensor*x,int dim,int64_t before,int64_t behind,double value){ox_tensor*parts[3];
int count=0;ox_shape shape=ox_shape_of(x);ox_scalar number=ox_scalar_float(value);
ox_tensor*one=oxi_full_scalar(OX_SCALAR_SHAPE,number,x->dtype,oxi_working_device(ox_device_of(x)));shape.dim[dim]=before;
if(before>0)parts[count++]=ox_expand(one,shape);
parts[count++]=x;shape.dim[dim]=behind;if(behind>0)parts[count++]=ox_expand(one,shape);
for(int i=0;i<count;i++)
if(!parts[i])return NULL;
return ox_cat(parts,count,dim);}
static ox_tensor*oxi_pad_places(ox_tensor*x,int64_t n,int64_t before,int64_t behind,oxi_pad_mode mode){
ox_tensor*at=oxi_ramp_beside(x,before+n+behind,OX_I64);at=ox_sub(at,ox_integer(before));ox_tensor*last=ox_integer(n-1);
if(mode==OXI_PAD_CIRCULAR)return ox_remainder(at,ox_integer(n));
if(mode==OXI_PAD_REPLICATE)return ox_clamp(at,0,(double)(n-1));
return ox_sub(last,ox_abs(ox_sub(last,ox_abs(at))));}
static bool oxi_pad_fits(const ox_tensor*x,int dim,int64_t before,int64_t behind,oxi_pad_mode mode){
int64_t n=x->shape[dim],longest=before>behind?before:behind,most=OXI_PAD_MOST;if(mode==OXI_PAD_REFLECT)most=n-1;
if(mode==OXI_PAD_CIRCULAR)most=n;
if(mode==OXI_PAD_REPLICATE&&n==0)most=0;
bool in_range=before>-OXI_PAD_MOST&&before<OXI_PAD_MOST&&behind>-OXI_PAD_MOST&&behind<OXI_PAD_MOST;
if(in_range&&longest<=most&&n+before+behind>=0)return true;
(void)oxi_fail(OX_ERR_ARG,"pad: %lld and %lld at the ends of dim %d of %s",(long long)before,(long long)behind,dim,oxi_tensor_text(x));
return false;}
static ox_tensor*oxi_pad_dim(ox_tensor*x,int dim,int64_t before,int64_t behind,oxi_pad_mode mode,double value){
if(!x||(before==0&&behind==0))return x;
if(!oxi_pad_fits(x,dim,before,behind,mode))return NULL;
int64_t cut=before<0?-before:0,end=x->shape[dim]-(behind<0?-behind:0);before=before<0?0:before;behind=behind<0?0:behind;
if(mode==OXI_PAD_CONSTANT){if(end<cut)
x=oxi_pad_constant(x,dim,before,behind,value);
else
return oxi_pad_constant(ox_narrow(x,dim,cut,end-cut),dim,before,behind,value);
return before?ox_narrow(x,dim,0,before+end):ox_narrow(x,dim,cut,x->shape[dim]-cut);}
if(mode==OXI_PAD_CIRCULAR&&end>cut){x=ox_narrow(x,dim,cut,end-cut);
cut=0;end-=x?end-x->shape[dim]:0;}
if(!x)return NULL;
ox_tensor*places=oxi_pad_places(x,x->shape[dim],before,behind,mode);
if(cut||end<x->shape[dim])places=ox_narrow(places,0,cut,before+end+behind-cut);
return ox_index_select(x,dim,places);}
OX_API ox_tensor*ox_pad(ox_tensor*x,const int64_t*pad,int64_t count,const char*mode,double value){
static const char*const words[]={"constant","reflect","replicate","circular"};if(oxi_any_null("pad",&x,1))return NULL;
int how=oxi_mode_word("pad",words,4,mode);if(how<0)return NULL;
bool spatial=how!=OXI_PAD_CONSTANT;if(count<0||count%2||count/2>x->ndim||
(spatial&&(count==0||count>6||count/2 +1>x->ndim||count/2 +2<x->ndim)))
return OXI_FAIL_NULL(OX_ERR_ARG,"pad: %lld numbers for %s, %s",(long long)count,oxi_tensor_text(x),words[how]);
oxi_work work=oxi_work_begin("pad");ox_tensor*y=x;for(int i=0;i<count/2&&y;i++)
y=oxi_pad_dim(y,x->ndim-1 -i,pad[2*i],pad[2*i+1],(oxi_pad_mode)how,value);
return oxi_work_end(&work,y==x?ox_clone(x):y);}
/* >>nn/images/interpolate.c */
typedef enum oxi_sampling{OXI_SAMPLE_NEAREST,OXI_SAMPLE_NEAREST_EXACT,OXI_SAMPLE_LINEAR,OXI_SAMPLE_CUBIC,OXI_SAMPLE_SMOOTH_LINEAR,
OXI_SAMPLE_SMOOTH_CUBIC,OXI_SAMPLE_AREA}oxi_sampling;
typedef struct oxi_interpolation{const char*mode;oxi_sampling how;int dims;}oxi_interpolation;typedef struct oxi_resampling{
int64_t in,out;double step;
oxi_sampling how;bool align_corners,single;}oxi_resampling;enum{OXI_TAPS=4};static double oxi_rounded_to(bool single,double v){
return single?(double)(float)v:v;}
static double oxi_sampled_at(const oxi_resampling*r,int64_t i){if(r->align_corners)return oxi_rounded_to(r->single,r->step*(double)i);
if(r->how==OXI_SAMPLE_NEAREST)return oxi_rounded_to(r->single,r->step*(double)i);
double at=oxi_rounded_to(r->single,r->step*((double)i+0.5));
if(r->how==OXI_SAMPLE_NEAREST_EXACT)return at;
at=oxi_rounded_to(r->single,at-0.5);return at<0&&r->how!=OXI_SAMPLE_CUBIC?0:at;}
static void oxi_cubic_weights(double t,double*weight){const double a=-0.75;
for(int k=0;k<OXI_TAPS;k++){double d=fabs(t+1 -k);
weight[k]=d<=1?((a+2)*d-(a+3))*d*d+1:((a*d-5*a)*d+8*a)*d-4*a;}}
static int oxi_taps_of(const oxi_resampling*r,int64_t i,int64_t*index,double*weight){double at=oxi_sampled_at(r,i);
int64_t last=r->in-1,first=at>=(double)last?last:(int64_t)floor(at);
double t=at-(double)first;
if(t>1)t=1;
weight[0]=1;index[0]=first;if(r->how==OXI_SAMPLE_NEAREST||r->how==OXI_SAMPLE_NEAREST_EXACT)return 1;
if(r->how==OXI_SAMPLE_LINEAR){if(r->in==r->out){index[0]=i;
t=0;}
index[1]=index[0]+(index[0]<last);weight[0]=oxi_rounded_to(r->single,1 -t);weight[1]=t;return 2;}
oxi_cubic_weights(t,weight);for(int k=0;k<OXI_TAPS;k++){int64_t at_k=first-1 +k;
index[k]=at_k<0?0:at_k>last?last:at_k;}
return OXI_TAPS;}
static bool oxi_is_smooth(oxi_sampling how){return how==OXI_SAMPLE_SMOOTH_LINEAR||how==OXI_SAMPLE_SMOOTH_CUBIC;}
static double oxi_smooth_reach(const oxi_resampling*r){return(r->how==OXI_SAMPLE_SMOOTH_LINEAR?1:2)*(r->step>1?r->step:1);}
static double oxi_smooth_filter(oxi_sampling how,double t){t=fabs(t);
if(how==OXI_SAMPLE_SMOOTH_LINEAR)return t<1?1 -t:0;
return t<1?(1.5*t-2.5)*t*t+1:t<2?-0.5*(((t-5)*t+8)*t-4):0;}
static void oxi_smooth_taps(const oxi_resampling*r,int64_t i,int64_t most,int64_t*index,double*weight){
double reach=oxi_smooth_reach(r),center=r->step*((double)i+0.5),sum=0;
double inverse=r->step>1?1/r->step:1,low=center-reach+0.5;
int64_t first=low>0?(int64_t)low:0,end=(int64_t)(center+reach+0.5);if(end>r->in)end=r->in;
for(int64_t k=0;k<most;k++){bool there=first+k<end;
double t=((double)(first+k)-center+0.5)*inverse;
index[k*r->out]=there?first+k:0;weight[k*r->out]=there?oxi_smooth_filter(r->how,t):0;sum+=weight[k*r->out];}
for(int64_t k=0;k<most&&sum!=0;k++)weight[k*r->out]/=sum;}
static ox_tensor*oxi_list_beside(const ox_tensor*x,const void*numbers,int64_t count,ox_dtype dtype){
return ox_to(oxi_copied(numbers,OX_SHAPE(count),dtype),oxi_working_device(ox_device_of(x)));}
static ox_tensor*oxi_tap_sum(ox_tensor*x,int dim,int64_t places,int taps,const int64_t*index,const double*weight){ox_tensor*sum=NULL;
ox_shape shape=ox_shape_of(x);for(int d=0;d<shape.ndim;d++)shape.dim[d]=d==dim?places:1;
for(int k=0;k<taps;k++){ox_tensor*term=ox_index_select(x,dim,oxi_list_beside(x,index+k*places,places,OX_I64));
if(taps>1){ox_tensor*each=oxi_list_beside(x,weight+k*places,places,OX_F64);
term=ox_mul(term,ox_reshape(ox_cast(each,x->dtype),shape));}
sum=k?ox_add(sum,term):term;}
return sum;}
static ox_tensor*oxi_resampled(ox_tensor*x,int dim,const oxi_resampling*r){size_t bytes,each;bool smooth=oxi_is_smooth(r->how);
int64_t most=smooth?2*(int64_t)ceil(oxi_smooth_reach(r))+1:(int64_t)OXI_TAPS;
if(!x||most>INT32_MAX||!oxi_mul_size((size_t)most,sizeof(int64_t)+sizeof(double),&each)||!oxi_mul_size((size_t)r->out,each,&bytes))
return x?OXI_FAIL_NULL(OX_ERR_SHAPE,"interpolate: %lld places",(long long)r->out):NULL;
int64_t*index=(int64_t*)oxi_alloc(bytes?bytes:1);if(!index)return NULL;
double*weight=(double*)(index+most*r->out);
int taps=smooth?(int)most:1;for(int64_t i=0;i<r->out&&smooth;i++)oxi_smooth_taps(r,i,most,index+i,weight+i);
for(int64_t i=0;i<r->out&&!smooth;i++){int64_t at[OXI_TAPS];
double much[OXI_TAPS];
taps=oxi_taps_of(r,i,at,much);for(int k=0;k<taps;k++){index[k*r->out+i]=at[k];
weight[k*r->out+i]=much[k];}}
ox_tensor*y=oxi_tap_sum(x,dim,r->out,taps,index,weight);oxi_free(index,bytes?bytes:1);return y;}
static const oxi_interpolation*oxi_interpolation_of(const ox_tensor*x,const char*mode,bool align_corners){
static const oxi_interpolation rows[]={{"nearest",OXI_SAMPLE_NEAREST,0},{"nearest-exact",OXI_SAMPLE_NEAREST_EXACT,0},
{"linear",OXI_SAMPLE_LINEAR,1},{"bilinear",OXI_SAMPLE_LINEAR,2},{"trilinear",OXI_SAMPLE_LINEAR,3},{"bicubic",OXI_SAMPLE_CUBIC,2},
{"area",OXI_SAMPLE_AREA,0},{"bilinear-antialias",OXI_SAMPLE_SMOOTH_LINEAR,2},{"bicubic-antialias",OXI_SAMPLE_SMOOTH_CUBIC,2},};
for(size_t i=0;i<sizeof rows/sizeof*rows;i++){if(mode&&strcmp(mode,rows[i].mode)!=0)continue;
bool corners=rows[i].how>OXI_SAMPLE_NEAREST_EXACT&&rows[i].how!=OXI_SAMPLE_AREA;
bool floats=oxi_is_float(x->dtype)||rows[i].how<=OXI_SAMPLE_NEAREST_EXACT;
if(x->ndim>=3&&x->ndim<=5&&(rows[i].dims==0||rows[i].dims==x->ndim-2)&&floats&&(corners||!align_corners))
return&rows[i];
(void)oxi_fail(floats?OX_ERR_SHAPE:OX_ERR_DTYPE,"interpolate: \"%s\"%s of %s",rows[i].mode,
align_corners?" with align_corners":"",oxi_tensor_text(x));
return NULL;}
(void)oxi_fail(OX_ERR_ARG,"interpolate: no mode \"%s\"",mode);return NULL;}
static bool oxi_interpolate_sizes(const ox_tensor*x,ox_shape*size,const double*given,int count,double*scale){int dims=x->ndim-2;
bool fits=(size->ndim==0)==(count>0)&&(!count||given)&&(size->ndim?size->ndim==1||size->ndim==dims:count==1||count==dims);
bool one=size->ndim==1;for(int d=0;d<dims&&fits;d++){int64_t in=x->shape[d+2];
scale[d]=count?given[count==1?0:d]:0;if(count&&!(scale[d]>0&&scale[d]*(double)in<(double)OXI_PAD_MOST))fits=false;
if(fits)size->dim[d]=count?(int64_t)floor((double)in*scale[d]):size->dim[one?0:d];
fits=fits&&size->dim[d]>0&&in>0;}
size->ndim=dims;if(!fits)(void)oxi_fail(OX_ERR_ARG,"interpolate: sizes or scales of %s",oxi_tensor_text(x));
return fits;}
static ox_tensor*oxi_area_of(ox_tensor*x,ox_shape size){if(size.ndim==1)return ox_adaptive_avg_pool1d(x,size);
return size.ndim==2?ox_adaptive_avg_pool2d(x,size):ox_adaptive_avg_pool3d(x,size);}
OX_API ox_tensor*ox_interpolate(ox_tensor*x,ox_shape size,const double*scale,int scale_count,
const char*mode,bool align_corners,bool recompute){double scales[3];
if(oxi_any_null("interpolate",&x,1))return NULL;
const oxi_interpolation*row=oxi_interpolation_of(x,mode,align_corners);
if(!row||!oxi_interpolate_sizes(x,&size,scale,scale_count,scales))return NULL;
oxi_work work=oxi_work_begin("interpolate");if(row->how==OXI_SAMPLE_AREA)return oxi_work_end(&work,oxi_area_of(x,size));
bool weighted=row->how>OXI_SAMPLE_NEAREST_EXACT;ox_tensor*y=weighted?oxi_wide(x):x;for(int d=0;d<size.ndim;d++){oxi_resampling r;
r.in=x->shape[d+2];r.out=size.dim[d];r.how=row->how;r.align_corners=align_corners;r.single=x->dtype!=OX_F64;
r.step=scales[d]>0&&!recompute?1/scales[d]:(double)r.in/(double)r.out;
if(align_corners)r.step=r.out>1?(double)(r.in-1)/(double)(r.out-1):0;
r.step=oxi_rounded_to(r.single,r.step);y=oxi_resampled(y,d+2,&r);}
return oxi_work_end(&work,y&&weighted?ox_cast(y,x->dtype):y);}
/* >>nn/images/grid.c */
typedef struct oxi_grid{ox_tensor*flat;int dims;int64_t size[3];bool zeros;}oxi_grid;
static ox_tensor*oxi_cut_coordinate(ox_tensor*x,double high){ox_tensor*inside=ox_logical_and(ox_gt_number(x,0),ox_lt_number(x,high));
return ox_where(inside,x,ox_clamp(ox_detach(x),0,high));}
static ox_tensor*oxi_mirrored_at(ox_tensor*x,double low,double span){if(span<=0)return ox_mul_number(x,0);
ox_tensor*away=ox_abs(ox_sub_number(x,low));ox_tensor*times=ox_floor(ox_div_number(ox_detach(away),span));
ox_tensor*rest=ox_sub(away,ox_mul_number(times,span));ox_tensor*odd=ox_ne_number(ox_remainder_number(times,2),0);
return ox_add_number(ox_where(odd,ox_rsub_number(rest,span),rest),low);}
static ox_tensor*oxi_grid_place(ox_tensor*x,int64_t size,int padding,bool align_corners,bool cut){double n=(double)size;
ox_tensor*place=align_corners?ox_mul_number(ox_add_number(x,1),(n-1)/2)
:ox_mul_number(ox_sub_number(ox_mul_number(ox_add_number(x,1),n),1),0.5);
if(!cut||padding==0)return place;
if(padding==2)
place=align_corners?oxi_mirrored_at(place,0,n-1):oxi_mirrored_at(place,-0.5,n);
return oxi_cut_coordinate(place,n-1);}
static ox_tensor*oxi_read_places(const oxi_grid*g,ox_tensor*const*place){ox_tensor*index=NULL,*inside=NULL;for(int d=0;d<g->dims;d++){
double last=(double)(g->size[d]-1);
ox_tensor*at=ox_detach(place[d]);ox_tensor*in=ox_logical_and(ox_ge_number(at,0),ox_le_number(at,last));
at=ox_cast(ox_clamp(ox_where(in,at,ox_number(0)),0,last),OX_I64);inside=d?ox_logical_and(inside,in):in;
index=d?ox_add(ox_mul(index,ox_integer(g->size[d])),at):at;}
if(!index)return NULL;
ox_shape shape=ox_shape_of(index);shape.dim[1]=g->flat->shape[1];ox_tensor*read=ox_gather(g->flat,2,ox_expand(index,shape));
return g->zeros?ox_where(inside,read,ox_number(0)):read;}
static ox_tensor*oxi_sample_linear(const oxi_grid*g,ox_tensor*const*place){ox_tensor*low[3],*part[3],*sum=NULL;
for(int d=0;d<g->dims;d++){low[d]=ox_floor(ox_detach(place[d]));
part[d]=ox_sub(place[d],low[d]);}
for(int corner=0;corner<1<<g->dims;corner++){ox_tensor*at[3],*weight=NULL;
for(int d=0;d<g->dims;d++){bool high=corner>>d&1;
at[d]=high?ox_add_number(low[d],1):low[d];ox_tensor*much=high?part[d]:ox_rsub_number(part[d],1);weight=weight?ox_mul(weight,much):much;}
ox_tensor*term=ox_mul(oxi_read_places(g,at),weight);sum=sum?ox_add(sum,term):term;}
return sum;}
static ox_tensor*oxi_cubic_weight(ox_tensor*t,int k){const double a=-0.75;
ox_tensor*d=k<2?ox_add_number(t,1 -k):ox_rsub_number(t,k-1);if(k==1||k==2)
return ox_add_number(ox_mul(ox_sub_number(ox_mul_number(d,a+2),a+3),ox_square(d)),1);
d=ox_add_number(ox_mul(ox_sub_number(ox_mul_number(d,a),5*a),d),8*a);ox_tensor*away=k<2?ox_add_number(t,1 -k):ox_rsub_number(t,k-1);
return ox_sub_number(ox_mul(d,away),4*a);}
static ox_tensor*oxi_sample_cubic(const oxi_grid*g,ox_tensor*const*place,int padding,bool align_corners){
ox_tensor*low[2],*part[2],*sum=NULL;for(int d=0;d<2;d++){low[d]=ox_floor(ox_detach(place[d]));
part[d]=ox_sub(place[d],low[d]);}
for(int tap=0;tap<16;tap++){ox_tensor*at[2],*weight[2];
const int k[2]={tap/4,tap%4};for(int d=0;d<2;d++){double n=(double)g->size[d];
at[d]=ox_add_number(low[d],k[d]-1);if(padding==2)
at[d]=align_corners?oxi_mirrored_at(at[d],0,n-1):oxi_mirrored_at(at[d],-0.5,n);
if(padding)at[d]=ox_clamp(at[d],0,n-1);
weight[d]=oxi_cubic_weight(part[d],k[d]);}
ox_tensor*term=ox_mul(ox_mul(oxi_read_places(g,at),weight[0]),weight[1]);sum=sum?ox_add(sum,term):term;}
return sum;}
static bool oxi_grid_fits(const ox_tensor*x,const ox_tensor*grid,int mode){int dims=x->ndim-2;
bool fits=(dims==2||dims==3)&&grid->ndim==x->ndim&&grid->shape[0]==x->shape[0]&&grid->shape[dims+1]==dims&&(mode!=2||dims==2);
for(int d=0;d<dims&&fits;d++)fits=x->shape[2 +d]>0;
if(!fits)
(void)oxi_fail(OX_ERR_SHAPE,"grid_sample: %s at %s%s",oxi_tensor_text(x),oxi_tensor_text(grid),mode==2?", bicubic":"");
else if(!oxi_is_float(x->dtype)||grid->dtype!=x->dtype)
(void)oxi_fail(OX_ERR_DTYPE,"grid_sample: %s at %s",oxi_tensor_text(x),oxi_tensor_text(grid));
return fits&&oxi_is_float(x->dtype)&&grid->dtype==x->dtype;}
OX_API ox_tensor*ox_grid_sample(ox_tensor*x,ox_tensor*grid,const char*mode,const char*padding,bool align_corners){
static const char*const modes[]={"bilinear","nearest","bicubic"};static const char*const paddings[]={"zeros","border","reflection"};
ox_tensor*in[2]={x,grid},*place[3],*y;if(oxi_any_null("grid_sample",in,2))return NULL;
int how=oxi_mode_word("grid_sample",modes,3,mode),outside=oxi_mode_word("grid_sample",paddings,3,padding);
if(how<0||outside<0||!oxi_grid_fits(x,grid,how))return NULL;
oxi_work work=oxi_work_begin("grid_sample");oxi_grid g;ox_tensor*wide=oxi_wide(grid),
*at=ox_reshape(wide,OX_SHAPE(grid->shape[0],1,-1,grid->shape[x->ndim-1]));
g.dims=x->ndim-2;g.zeros=outside==0;g.flat=ox_flatten(oxi_wide(x),2,-1);if(ox_numel(grid)==0)
at=ox_reshape(wide,OX_SHAPE(grid->shape[0],1,grid->shape[0]?0:1,grid->shape[x->ndim-1]));
for(int d=0;d<g.dims;d++){g.size[d]=x->shape[2 +d];
place[d]=oxi_grid_place(ox_select(at,-1,g.dims-1 -d),g.size[d],outside,align_corners,how!=2);if(how==1)place[d]=ox_round(place[d]);}
if(!g.flat||!at)return oxi_work_end(&work,NULL);
if(how==2)
y=oxi_sample_cubic(&g,place,outside,align_corners);
else
y=how==1?oxi_read_places(&g,place):oxi_sample_linear(&g,place);
ox_shape shape=ox_shape_of(grid);for(int d=shape.ndim-1;d>1;d--)shape.dim[d]=shape.dim[d-1];
shape.dim[1]=x->shape[1];return oxi_work_end(&work,ox_cast(ox_reshape(y,shape),x->dtype));}
OX_API ox_tensor*ox_affine_grid(ox_tensor*theta,ox_shape size,bool align_corners){if(oxi_any_null("affine_grid",&theta,1))return NULL;
int dims=size.ndim-2;if((dims!=2&&dims!=3)||theta->ndim!=3||theta->shape[0]!=size.dim[0]||theta->shape[1]!=dims||theta->shape[2]!=dims+1)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"affine_grid: %s for %d sizes",oxi_tensor_text(theta),size.ndim);
if(!oxi_is_float(theta->dtype))
return OXI_FAIL_NULL(OX_ERR_DTYPE,"affine_grid: %s",oxi_tensor_text(theta));
oxi_work work=oxi_work_begin("affine_grid");ox_shape shape=size;ox_tensor*parts[4];shape.ndim=dims+1;
for(int d=0;d<dims;d++)shape.dim[d]=size.dim[d+2];
shape.dim[dims]=1;for(int c=0;c<dims;c++){int d=dims-1 -c;
double n=(double)shape.dim[d],most=align_corners?1:1 -1/n;
ox_shape along=shape;for(int i=0;i<=dims;i++)along.dim[i]=i==d?shape.dim[d]:1;
ox_tensor*ramp=ox_linspace(n>1?-most:0,n>1?most:0,shape.dim[d],theta->dtype==OX_F64?OX_F64:OX_F32);
ramp=ox_to(ramp,oxi_working_device(ox_device_of(theta)));parts[c]=ox_expand(ox_reshape(ramp,along),shape);}
parts[dims]=ox_ones_like(parts[0]);ox_tensor*base=ox_reshape(ox_cat(parts,dims+1,dims),OX_SHAPE(-1,dims+1));
ox_tensor*made=ox_matmul(base,ox_transpose(oxi_wide(theta),1,2));ox_shape out=shape;out.ndim=dims+2;
for(int d=dims;d>0;d--)out.dim[d]=shape.dim[d-1];
out.dim[0]=size.dim[0];out.dim[dims+1]=dims;return oxi_work_end(&work,ox_cast(ox_reshape(made,out),theta->dtype));}
/* >>nn/images/windows.c */
static ox_tensor*oxi_shuffled(const char*name,ox_tensor*x,int64_t r,bool out){if(oxi_any_null(name,&x,1))return NULL;
int n=x->ndim-3;bool fits=n>=0&&n+5<=OX_MAX_DIMS&&r>0&&r<INT32_MAX;
if(fits)fits=out?x->shape[n]%(r*r)==0:x->shape[n+1]%r==0&&x->shape[n+2]%r==0;
if(!fits)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"%s: by %lld of %s",name,(long long)r,oxi_tensor_text(x));
oxi_work work=oxi_work_begin(name);static const int out_order[5]={0,3,1,4,2},in_order[5]={0,2,4,1,3};
ox_shape parts=ox_shape_of(x),order,made=parts;int64_t c=x->shape[n],h=x->shape[n+1],w=x->shape[n+2];
const int64_t out_parts[5]={c/(r*r),r,r,h,w},in_parts[5]={c,h/r,r,w/r,r};parts.ndim=order.ndim=n+5;for(int d=0;d<n;d++)order.dim[d]=d;
for(int d=0;d<5;d++){parts.dim[n+d]=out?out_parts[d]:in_parts[d];
order.dim[n+d]=n+(out?out_order[d]:in_order[d]);}
made.dim[n]=out?c/(r*r):c*r*r;made.dim[n+1]=out?h*r:h/r;made.dim[n+2]=out?w*r:w/r;
ox_tensor*y=ox_reshape(ox_permute(ox_reshape(x,parts),order),made);return oxi_work_end(&work,y);}
OX_API ox_tensor*ox_pixel_shuffle(ox_tensor*x,int64_t factor){return oxi_shuffled("pixel_shuffle",x,factor,true);}
OX_API ox_tensor*ox_pixel_unshuffle(ox_tensor*x,int64_t factor){return oxi_shuffled("pixel_unshuffle",x,factor,false);}
OX_API ox_tensor*ox_channel_shuffle(ox_tensor*x,int64_t groups){if(oxi_any_null("channel_shuffle",&x,1))return NULL;
if(x->ndim<3||x->ndim==OX_MAX_DIMS||groups<1||x->shape[1]%groups)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"channel_shuffle: %lld groups of %s",(long long)groups,oxi_tensor_text(x));
oxi_work work=oxi_work_begin("channel_shuffle");ox_tensor*apart=ox_unflatten(x,1,OX_SHAPE(groups,x->shape[1]/groups));
return oxi_work_end(&work,ox_reshape(ox_transpose(apart,1,2),ox_shape_of(x)));}
static ox_tensor*oxi_avg_pool_of(int dims,ox_tensor*x,ox_shape kernel,ox_shape stride,bool ceil){
if(dims==1)return ox_avg_pool1d(x,kernel,stride,OX_SCALAR_SHAPE,ceil,true,0);
if(dims==2)return ox_avg_pool2d(x,kernel,stride,OX_SCALAR_SHAPE,ceil,true,0);
return ox_avg_pool3d(x,kernel,stride,OX_SCALAR_SHAPE,ceil,true,0);}
static ox_tensor*oxi_lp_pool(const char*name,int dims,ox_tensor*x,double p,ox_shape kernel,ox_shape stride,bool ceil){oxi_span each;
if(oxi_any_null(name,&x,1)||!oxi_number_fits(name,p!=0,p)||!oxi_span_of(name,"kernel",kernel,dims,&each))
return NULL;
double count=1;
for(int d=0;d<dims;d++)count*=(double)each.n[d];
oxi_work work=oxi_work_begin(name);ox_tensor*mean=oxi_avg_pool_of(dims,ox_pow_number(x,p),kernel,stride,ceil);
ox_tensor*size=ox_mul(ox_sign(mean),ox_relu(ox_abs(mean)));return oxi_work_end(&work,ox_pow_number(ox_mul_number(size,count),1/p));}
OX_API ox_tensor*ox_local_response_norm(ox_tensor*x,int64_t size,double alpha,double beta,double k){
if(oxi_any_null("local_response_norm",&x,1))return NULL;
if(x->ndim<3||size<1||size>INT32_MAX)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"local_response_norm: %lld channels of %s",(long long)size,oxi_tensor_text(x));
if(ox_numel(x)==0)return ox_clone(x);
oxi_work work=oxi_work_begin("local_response_norm");const int64_t pad[2]={size/2,(size-1)/2};
ox_tensor*lines=ox_movedim(ox_square(x),1,-1);ox_shape shape=ox_shape_of(lines);
lines=ox_pad(ox_reshape(lines,OX_SHAPE(-1,1,x->shape[1])),pad,2,NULL,0);
ox_tensor*mean=ox_avg_pool1d(lines,OX_DIMS(size),OX_DIMS(1),OX_SCALAR_SHAPE,false,true,0);mean=ox_movedim(ox_reshape(mean,shape),-1,1);
ox_tensor*divisor=ox_pow_number(ox_add_number(ox_mul_number(mean,alpha),k),beta);return oxi_work_end(&work,ox_div(x,divisor));}
static bool oxi_unpooled_sizes(const char*name,const ox_tensor*x,const oxi_attr_pool*told,ox_shape*size){
int dims=(int)told->dims,first=x->ndim-dims;bool fits=size->ndim==0||size->ndim==dims||size->ndim==x->ndim;
int skip=size->ndim==x->ndim?first:0;bool given=size->ndim>0;for(int d=0;d<dims&&fits;d++){int64_t stride=told->stride.n[d],most;
fits=oxi_mul_i64(x->shape[first+d],stride,&most);most=fits?most-stride-2*told->padding.n[d]+told->kernel.n[d]:0;
int64_t asked=given&&fits?size->dim[skip+d]:most;fits=fits&&(!given||(asked>most-stride&&asked<most+stride));size->dim[d]=asked;
fits=fits&&asked>0;}
size->ndim=dims;if(!fits)(void)oxi_fail(OX_ERR_ARG,"%s: no such image pools to %s",name,oxi_tensor_text(x));
return fits;}
static ox_tensor*oxi_unpooled(ox_tensor*x,ox_tensor*indices,ox_shape shape,int first){
ox_tensor*zeros=oxi_constant_beside(x,shape,0),*at=ox_flatten(indices,first,-1);
ox_tensor*fixed=ox_detach(x),*put=ox_scatter(zeros,first,at,ox_flatten(fixed,first,-1));
ox_tensor*none=ox_where(ox_isfinite(fixed),ox_sub(x,fixed),ox_number(0));return ox_scatter_add(put,first,at,ox_flatten(none,first,-1));}
static ox_tensor*oxi_max_unpool(const char*name,int dims,ox_tensor*x,ox_tensor*indices,
ox_shape kernel,ox_shape stride,ox_shape padding,ox_shape size){ox_tensor*in[2]={x,indices};
oxi_attrs attr=oxi_attrs_pool();if(oxi_any_null(name,in,2))return NULL;
int first=x->ndim-dims;if((first!=1&&first!=2)||!oxi_same_sizes(indices,x,-1))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"%s: %s at %s",name,oxi_tensor_text(x),oxi_tensor_text(indices));
if(indices->dtype!=OX_I64)
return OXI_FAIL_NULL(OX_ERR_DTYPE,"%s: indices %s",name,oxi_tensor_text(indices));
if(!oxi_pool_told(name,dims,kernel,stride,padding,OX_SCALAR_SHAPE,&attr.pool)||!oxi_unpooled_sizes(name,x,&attr.pool,&size))
return NULL;
oxi_work work=oxi_work_begin(name);ox_shape shape=ox_shape_of(x),flat=shape;flat.ndim=first+1;flat.dim[first]=1;bool fits=true;
for(int d=0;d<dims;d++){shape.dim[first+d]=size.dim[d];
fits=fits&&oxi_mul_i64(flat.dim[first],size.dim[d],&flat.dim[first]);}
if(!fits)return oxi_work_end(&work,OXI_FAIL_NULL(OX_ERR_SHAPE,"%s: too large",name));
return oxi_work_end(&work,ox_reshape(oxi_unpooled(x,indices,flat,first),shape));}
#define OXI_X(dims)\
OX_API ox_tensor*ox_lp_pool##dims##d(ox_tensor*x,double p,ox_shape kernel,ox_shape stride,bool ceil){\
return oxi_lp_pool("lp_pool"#dims "d",dims,x,p,kernel,stride,ceil);}\
OX_API ox_tensor*ox_max_unpool##dims##d(ox_tensor*x,ox_tensor*indices,ox_shape kernel,ox_shape stride,ox_shape padding,ox_shape size){\
return oxi_max_unpool("max_unpool"#dims "d",dims,x,indices,kernel,stride,padding,size);}
OXI_X(1)OXI_X(2)OXI_X(3)
#undef OXI_X
static ox_tensor*oxi_fractional_starts(ox_tensor*samples,int64_t in,int64_t out,int64_t kernel){
ox_tensor*last=ox_expand(ox_integer(in-kernel),OX_SHAPE(samples->shape[0],samples->shape[1],1));if(out==1)return last;
double alpha=(double)(in-kernel)/(double)(out-1);
if(samples->dtype!=OX_F64)alpha=(double)(float)alpha;
ox_tensor*ramp=oxi_ramp_beside(samples,out-1,samples->dtype),*parts[2];ox_tensor*each=ox_unsqueeze(samples,2);
ox_tensor*from=ox_trunc(ox_mul_number(each,alpha));ox_tensor*places=ox_sub(ox_trunc(ox_mul_number(ox_add(ramp,each),alpha)),from);
parts[0]=ox_cast(places,OX_I64);parts[1]=ox_to(ox_cast(last,OX_I64),oxi_working_device(ox_device_of(samples)));
return parts[0]&&parts[1]?ox_cat(parts,2,2):NULL;}
static ox_tensor*oxi_fractional_places(ox_tensor*starts,int dims,int d,int64_t kernel){
ox_tensor*at=ox_add(ox_unsqueeze(starts,3),oxi_ramp_beside(starts,kernel,OX_I64));
ox_shape shape=ox_make_shape(2 +2*dims,1,1,1,1,1,1,1,1);if(!at)return NULL;
shape.dim[0]=at->shape[0];shape.dim[1]=at->shape[1];shape.dim[2 +d]=at->shape[2];shape.dim[2 +dims+d]=kernel;return ox_reshape(at,shape);
}
static ox_pair oxi_fractional_pool(const char*name,int dims,ox_tensor*x,ox_shape kernel,ox_shape size,ox_tensor*samples){
ox_pair none={NULL,NULL};ox_tensor*in[2]={x,samples},*index=NULL;oxi_span each,places;
if(oxi_any_null(name,in,2)||!oxi_span_of(name,"kernel",kernel,dims,&each)||!oxi_span_of(name,"size",size,dims,&places))
return none;
int first=x->ndim-dims;bool fits=(first==1||first==2)&&kernel.ndim&&size.ndim&&samples->ndim==3&&
samples->shape[2]==dims&&oxi_is_float(samples->dtype);
for(int d=0;d<dims&&fits;d++)
fits=each.n[d]>0&&places.n[d]>0&&each.n[d]<=x->shape[first+d]&&places.n[d]<=x->shape[first+d]-each.n[d]+1;
fits=fits&&samples->shape[1]==x->shape[first-1]&&(first==1?samples->shape[0]>0:samples->shape[0]==x->shape[0]&&x->shape[1]>0);if(!fits){
(void)oxi_fail(OX_ERR_SHAPE,"%s: windows over %s by %s",name,oxi_tensor_text(x),oxi_tensor_text(samples));
return none;}
oxi_work work=oxi_work_begin(name);if(first==1)samples=ox_narrow(samples,0,0,1);
ox_tensor*image=ox_flatten(first==1?ox_unsqueeze(x,0):x,2,-1);for(int d=0;d<dims;d++){int64_t n=x->shape[first+d];
ox_tensor*starts=oxi_fractional_starts(ox_select(samples,2,dims==2?1 -d:d),n,places.n[d],each.n[d]);
ox_tensor*at=starts?oxi_fractional_places(starts,dims,d,each.n[d]):NULL;index=index?ox_add(ox_mul(index,ox_integer(n)),at):at;}
index=ox_flatten(index,2 +dims,-1);ox_tensor*all=index?ox_gather(image,2,ox_flatten(index,2,-1)):NULL;
ox_pair most=all?ox_max(ox_reshape(all,ox_shape_of(index)),-1,true):none;
ox_tensor*where=ox_squeeze(ox_gather(index,-1,most.indices),-1),*y=ox_squeeze(most.values,-1);
return oxi_pair_end(&work,first==1?ox_squeeze(y,0):y,first==1?ox_squeeze(where,0):where);}
OX_API ox_pair ox_fractional_max_pool2d(ox_tensor*x,ox_shape kernel,ox_shape size,ox_tensor*samples){
return oxi_fractional_pool("fractional_max_pool2d",2,x,kernel,size,samples);}
OX_API ox_pair ox_fractional_max_pool3d(ox_tensor*x,ox_shape kernel,ox_shape size,ox_tensor*samples){
return oxi_fractional_pool("fractional_max_pool3d",3,x,kernel,size,samples);}
/* >>nn/recurrent/step.c */
typedef struct oxi_recurrent_kind{const char*name;int gates,states;int kind;void(*step)(ox_tensor*x,ox_tensor*h,ox_tensor**state);
ox_function function;}oxi_recurrent_kind;static ox_tensor*oxi_gate_of(ox_tensor*gates,int i,int of){
int64_t width=gates?gates->shape[1]/of:0;return ox_narrow(gates,1,i*width,width);}
static bool oxi_recurrent_row(const oxi_recurrent_kind*kind,oxi_op op,ox_tensor*const*in,int in_count,int count,ox_tensor**out){
oxi_call call=oxi_call_of(op,in,in_count,NULL);call.attr.recurrent.kind=kind->kind;call.out_count=count;
if(!oxi_call_runs_there(&call)||oxi_apply(&call)!=OX_OK)return false;
for(int k=0;k<count;k++)out[k]=call.out[k];
return true;}
static bool oxi_step_back_row(const ox_function_context*c,ox_tensor*gates_back,ox_tensor**in,int in_count,int count){
if(ox_is_grad_enabled()||gates_back)return false;
for(int i=0;i<in_count;i++){if(!in[i])continue;
in[i]=ox_contiguous(oxi_as_dtype_of(in[i],in[2]));if(!in[i]||in[i]->dtype==OX_F64)return false;}
const oxi_recurrent_kind*kind=(const oxi_recurrent_kind*)c->user;
return oxi_recurrent_row(kind,OXI_OP_recurrent_step_back,in,in_count,count,c->input_gradients);}
static ox_tensor*oxi_through_sigmoid(ox_tensor*g,ox_tensor*s){return ox_mul(g,ox_mul(s,ox_rsub_number(s,1)));}
static ox_tensor*oxi_through_tanh(ox_tensor*g,ox_tensor*t){return ox_mul(g,ox_rsub_number(ox_square(t),1));}
static ox_tensor*oxi_with_gate(ox_tensor*own,ox_tensor*gates_back,int i){return gates_back?ox_add(own,oxi_gate_of(gates_back,i,4)):own;}
static ox_status oxi_lstm_back(const ox_function_context*c){ox_tensor*from=c->gradients[0],*state=c->saved[0],*gates=c->saved[1];
ox_tensor*g=c->gradients[2]?c->gradients[2]:ox_zeros_like(state);
ox_tensor*in[4]={g,c->gradients[1],gates,state},*out[2],*gate[4],*own[4];ox_function_context row=*c;row.input_gradients=out;
if(!g)return ox_error();
if(!oxi_step_back_row(&row,from,in,4,2)){for(int i=0;i<4;i++)gate[i]=oxi_gate_of(gates,i,4);
ox_tensor*t=ox_tanh(ox_add(ox_mul(gate[1],state),ox_mul(gate[0],gate[2])));ox_tensor*of_c=oxi_through_tanh(ox_mul(g,gate[3]),t);
if(c->gradients[1])of_c=ox_add(of_c,c->gradients[1]);
own[0]=oxi_through_sigmoid(oxi_with_gate(ox_mul(of_c,gate[2]),from,0),gate[0]);
own[1]=oxi_through_sigmoid(oxi_with_gate(ox_mul(of_c,state),from,1),gate[1]);
own[2]=oxi_through_tanh(oxi_with_gate(ox_mul(of_c,gate[0]),from,2),gate[2]);
own[3]=oxi_through_sigmoid(oxi_with_gate(ox_mul(g,t),from,3),gate[3]);out[0]=own[0]&&own[1]&&own[2]&&own[3]?ox_cat(own,4,1):NULL;
out[1]=ox_mul(of_c,gate[1]);}
c->input_gradients[0]=c->input_gradients[1]=out[0];c->input_gradients[2]=out[1];return out[0]&&out[1]?OX_OK:ox_error();}
static ox_status oxi_gru_back(const ox_function_context*c){ox_tensor*from=c->gradients[0],*state=c->saved[0],*gates=c->saved[1];
ox_tensor*g=c->gradients[1]?c->gradients[1]:ox_zeros_like(state);ox_tensor*in[4]={g,NULL,gates,state},*gate[4],*own[3];
if(!g)return ox_error();
if(oxi_step_back_row(c,from,in,4,3))return OX_OK;
for(int i=0;i<4;i++)gate[i]=oxi_gate_of(gates,i,4);
own[2]=oxi_with_gate(ox_mul(g,ox_rsub_number(gate[1],1)),from,2);own[2]=oxi_through_tanh(own[2],gate[2]);
own[1]=oxi_with_gate(ox_mul(g,ox_sub(state,gate[2])),from,1);own[1]=oxi_through_sigmoid(own[1],gate[1]);
own[0]=oxi_through_sigmoid(oxi_with_gate(ox_mul(own[2],gate[3]),from,0),gate[0]);bool made=own[0]&&own[1]&&own[2];
c->input_gradients[0]=made?ox_cat(own,3,1):NULL;own[2]=oxi_with_gate(ox_mul(own[2],gate[0]),from,3);
c->input_gradients[1]=made&&own[2]?ox_cat(own,3,1):NULL;c->input_gradients[2]=ox_mul(g,gate[1]);
return c->input_gradients[0]&&c->input_gradients[1]&&c->input_gradients[2]?OX_OK:ox_error();}
static ox_status oxi_rnn_back(const ox_function_context*c){ox_tensor*y=c->saved[0],*g=c->gradients[0],*in[3]={g,NULL,y};
bool relu=((const oxi_recurrent_kind*)c->user)->kind==OXI_RECURRENT_RELU;if(!oxi_step_back_row(c,NULL,in,3,1))
c->input_gradients[0]=relu?ox_where(ox_le(y,ox_number(0)),ox_number(0),g):oxi_through_tanh(g,y);
c->input_gradients[1]=c->input_gradients[0];return c->input_gradients[0]?OX_OK:ox_error();}
static bool oxi_step_fits(const oxi_recurrent_kind*kind,const ox_tensor*x,const ox_tensor*h,const ox_tensor*state){
if(!x||!h||!state||x->ndim!=2||h->ndim!=2||state->ndim!=2)return false;
if(!oxi_back_reads(x)||h->dtype!=x->dtype||state->dtype!=x->dtype||ox_numel(x)==0)
return false;
return h->shape[0]==x->shape[0]&&h->shape[1]==x->shape[1]&&state->shape[0]==x->shape[0]&&state->shape[1]*kind->gates==x->shape[1];}
static bool oxi_step_by_row(const oxi_recurrent_kind*kind,ox_tensor*x,ox_tensor*h,ox_tensor**state){
ox_tensor*out[3],*own=state[kind->states-1];int given=kind->gates>1?3:2,count=kind->gates>1?1 +kind->states:1;
if(kind->gates>1&&!oxi_step_fits(kind,x,h,own))return false;
if(kind->gates==1&&!oxi_step_fits(kind,x,h,x))return false;
oxi_start_back();ox_tensor*in[3]={ox_contiguous(x),ox_contiguous(h),given>2?ox_contiguous(own):NULL};
if(!in[0]||!in[1]||(given>2&&!in[2]))return false;
bool enabled=ox_set_grad_enabled(false);bool made=oxi_recurrent_row(kind,OXI_OP_recurrent_step,in,given,count,out);
(void)ox_set_grad_enabled(enabled);if(!made)return false;
ox_tensor*saved[2]={given>2?in[2]:out[0],out[0]};
if(enabled&&ox_attach_function(&kind->function,(void*)(uintptr_t)kind,in,given,out,count,saved,given-1)!=OX_OK)
return false;
if(kind->states==2)state[1]=out[1];
state[0]=out[count-1];return true;}
static void oxi_recurrent_step(const oxi_recurrent_kind*kind,ox_tensor*x,ox_tensor*h,ox_tensor**state){
if(!oxi_step_by_row(kind,x,h,state))kind->step(x,h,state);}
/* >>nn/recurrent/recurrent.c */
typedef struct oxi_recurrent_weights{ox_tensor*w,*u,*b,*d,*projection;}oxi_recurrent_weights;typedef struct oxi_recurrent{
const oxi_recurrent_kind*kind;ox_tensor*const*params;int64_t layers;int directions,each;bool has_biases,train;double dropout;
}oxi_recurrent;static void oxi_step_lstm(ox_tensor*x,ox_tensor*h,ox_tensor**state){
ox_tensor*all=ox_add(x,h),*keep=ox_sigmoid(oxi_gate_of(all,1,4));
ox_tensor*write=ox_mul(ox_sigmoid(oxi_gate_of(all,0,4)),ox_tanh(oxi_gate_of(all,2,4)));state[1]=ox_add(ox_mul(keep,state[1]),write);
state[0]=ox_mul(ox_sigmoid(oxi_gate_of(all,3,4)),ox_tanh(state[1]));}
static void oxi_step_gru(ox_tensor*x,ox_tensor*h,ox_tensor**state){
ox_tensor*reset=ox_sigmoid(ox_add(oxi_gate_of(x,0,3),oxi_gate_of(h,0,3)));
ox_tensor*keep=ox_sigmoid(ox_add(oxi_gate_of(x,1,3),oxi_gate_of(h,1,3)));
ox_tensor*made=ox_tanh(ox_add(oxi_gate_of(x,2,3),ox_mul(reset,oxi_gate_of(h,2,3))));
state[0]=ox_add(made,ox_mul(keep,ox_sub(state[0],made)));}
static void oxi_step_tanh(ox_tensor*x,ox_tensor*h,ox_tensor**state){state[0]=ox_tanh(ox_add(x,h));}
static void oxi_step_relu(ox_tensor*x,ox_tensor*h,ox_tensor**state){state[0]=ox_relu(ox_add(x,h));}
static const oxi_recurrent_kind oxi_kind_lstm={"lstm",4,2,OXI_RECURRENT_LSTM,oxi_step_lstm,{"lstm_step",oxi_lstm_back,NULL}};
static const oxi_recurrent_kind oxi_kind_gru={"gru",3,1,OXI_RECURRENT_GRU,oxi_step_gru,{"gru_step",oxi_gru_back,NULL}};
static const oxi_recurrent_kind oxi_kind_rnn_tanh={"rnn_tanh",1,1,OXI_RECURRENT_TANH,oxi_step_tanh,{"rnn_tanh_step",oxi_rnn_back,NULL}};
static const oxi_recurrent_kind oxi_kind_rnn_relu={"rnn_relu",1,1,OXI_RECURRENT_RELU,oxi_step_relu,{"rnn_relu_step",oxi_rnn_back,NULL}};
static oxi_recurrent_weights oxi_weights_of(const oxi_recurrent*r,int64_t place){ox_tensor*const*from=r->params+place*r->each;
oxi_recurrent_weights weights={from[0],from[1],NULL,NULL,NULL};if(r->has_biases){weights.b=from[2];
weights.d=from[3];}
int plain=r->has_biases?4:2;if(r->each>plain)weights.projection=from[plain];
return weights;}
static ox_tensor*oxi_recurrent_run(const oxi_recurrent*r,int64_t place,bool backward,ox_tensor*x,ox_tensor**state,ox_tensor**list){
oxi_recurrent_weights weights=oxi_weights_of(r,place);ox_tensor*gates=ox_linear(x,weights.w,weights.b);int64_t times=x->shape[0];
for(int64_t i=0;i<times;i++){int64_t t=backward?times-1 -i:i;
ox_tensor*from_x=ox_select(gates,0,t),*from_h=ox_linear(state[0],weights.u,weights.d);oxi_recurrent_step(r->kind,from_x,from_h,state);
if(weights.projection)state[0]=ox_linear(state[0],weights.projection,NULL);
if(!state[0])return NULL;
list[t]=state[0];}
return ox_stack(list,(int)times,0);}
static ox_tensor*oxi_recurrent_layers(const oxi_recurrent*r,ox_tensor*x,ox_tensor*const*states,ox_tensor**last,ox_tensor**list){
for(int64_t layer=0;layer<r->layers;layer++){ox_tensor*sides[2]={NULL,NULL};
for(int side=0;side<r->directions;side++){int64_t place=layer*r->directions+side,all=r->layers*r->directions;
ox_tensor*state[2]={NULL,NULL};for(int s=0;s<r->kind->states;s++)state[s]=ox_select(states[s],0,place);
sides[side]=oxi_recurrent_run(r,place,side==1,x,state,list);if(!sides[side])return NULL;
for(int s=0;s<r->kind->states;s++)last[s*all+place]=state[s];}
x=r->directions==2?ox_cat(sides,2,2):sides[0];if(layer+1<r->layers&&r->dropout>0)x=ox_dropout(x,r->dropout,r->train);
if(!x)return NULL;}
return x;}
static bool oxi_gates_fit(const oxi_recurrent_kind*kind,const ox_tensor*w,const ox_tensor*u,const ox_tensor*state){
int64_t rows=kind->gates*state->shape[state->ndim-1];if(w->ndim==2&&u->ndim==2&&w->shape[0]==rows&&u->shape[0]==rows)return true;
(void)oxi_fail(OX_ERR_SHAPE,"%s: weights %s, %s beside a state %s",kind->name,oxi_tensor_text(w),
oxi_tensor_text(u),oxi_tensor_text(state));
return false;}
static bool oxi_recurrent_fits(const oxi_recurrent*r,const ox_tensor*x,ox_tensor*const*states,
int state_count,int param_count,int batch_dim){const char*name=r->kind->name;
int64_t all=r->layers*r->directions,plain=r->has_biases?4:2;bool counts=r->layers>=1&&r->layers<=1024&&state_count==r->kind->states&&
param_count%all==0&&(param_count/all==plain||(r->kind->states==2&&param_count/all==plain+1));
if(!counts||!(r->dropout>=0&&r->dropout<=1)){
(void)oxi_fail(OX_ERR_ARG,"%s: %d weights, %d states, %lld layers, dropout %g",name,param_count,
state_count,(long long)r->layers,r->dropout);
return false;}
for(int s=0;s<state_count;s++){const ox_tensor*t=states[s];
bool fits=(x->ndim==2||x->ndim==3)&&t->ndim==x->ndim&&t->shape[0]==all&&(x->ndim==2||t->shape[1]==x->shape[batch_dim])&&
x->shape[x->ndim==3?1 -batch_dim:0]>0;
if(fits)continue;
(void)oxi_fail(OX_ERR_SHAPE,"%s: a state %s beside %s",name,oxi_tensor_text(t),oxi_tensor_text(x));return false;}
for(int64_t i=0;i<all;i++){ox_tensor*const*own=r->params+i*(param_count/all);
if(!oxi_gates_fit(r->kind,own[0],own[1],states[state_count-1]))return false;}
return true;}
static ox_tensor*oxi_last_states(ox_tensor**last,int64_t count,bool single){ox_tensor*all=ox_stack(last,(int)count,0);
return single?ox_squeeze(all,1):all;}
static ox_tuple oxi_recurrent_call(oxi_recurrent*r,ox_tensor*x,ox_tensor*const*states,int state_count,int param_count,bool batch_first){
const char*name=r->kind->name;size_t bytes;if(oxi_any_null(name,&x,1)||state_count<1||param_count<1||
oxi_any_null(name,states,state_count)||oxi_any_null(name,r->params,param_count))
return oxi_no_tuple();
bool single=x->ndim==2,turned=batch_first&&!single;if(r->layers<1||!oxi_recurrent_fits(r,x,states,state_count,param_count,turned?0:1)){
if(r->layers<1)(void)oxi_fail(OX_ERR_ARG,"%s: %lld layers",name,(long long)r->layers);
return oxi_no_tuple();}
int64_t all=r->layers*r->directions,times=x->shape[turned?1:0];r->each=(int)(param_count/all);
ox_tensor**list=times<=INT32_MAX?oxi_list_new(times+2*all,&bytes):NULL;if(!list)return oxi_no_tuple();
oxi_work work=oxi_work_begin(name);ox_tensor*begin[2]={NULL,NULL},*last[2]={NULL,NULL};
for(int s=0;s<state_count;s++)begin[s]=single?ox_unsqueeze(states[s],1):states[s];
x=single?ox_unsqueeze(x,1):turned?ox_transpose(x,0,1):x;bool made=x&&begin[0]&&(state_count==1||begin[1]);
ox_tensor*y=made?oxi_recurrent_layers(r,x,begin,list+times,list):NULL;
for(int s=0;s<state_count&&y;s++)last[s]=oxi_last_states(list+times+s*all,all,single);
y=!y?NULL:single?ox_squeeze(y,1):turned?ox_transpose(y,0,1):y;if(state_count==2&&!last[1])y=NULL;
oxi_free(list,bytes?bytes:sizeof*list);return oxi_tuple_end(&work,y,last[0],last[1]);}
OX_API ox_tuple ox_lstm(ox_tensor*x,ox_tensor*const*states,int state_count,ox_tensor*const*params,
int param_count,bool has_biases,int64_t layers,double dropout,bool train,bool bidirectional,bool batch_first){
oxi_recurrent r={&oxi_kind_lstm,params,layers,bidirectional?2:1,0,has_biases,train,dropout};
return oxi_recurrent_call(&r,x,states,state_count,param_count,batch_first);}
static bool oxi_recurrent_cell(const oxi_recurrent_kind*kind,ox_tensor*x,ox_tensor**state,ox_tensor*w,
ox_tensor*u,ox_tensor*b,ox_tensor*d){ox_tensor*in[3]={x,w,u};
if(oxi_any_null(kind->name,in,3)||oxi_any_null(kind->name,state,kind->states))return false;
bool single=x->ndim==1;bool fits=single||x->ndim==2;for(int s=0;s<kind->states;s++)
fits=fits&&state[s]->ndim==x->ndim&&(single||state[s]->shape[0]==x->shape[0]);
if(!fits){(void)oxi_fail(OX_ERR_SHAPE,"%s_cell: a state %s beside %s",kind->name,oxi_tensor_text(state[0]),oxi_tensor_text(x));
return false;}
if(!oxi_gates_fit(kind,w,u,state[kind->states-1]))return false;
if(single)x=ox_unsqueeze(x,0);
for(int s=0;s<kind->states&&single;s++)state[s]=ox_unsqueeze(state[s],0);
oxi_recurrent_step(kind,ox_linear(x,w,b),ox_linear(state[0],u,d),state);
for(int s=0;s<kind->states&&single;s++)state[s]=ox_squeeze(state[s],0);
return state[0]!=NULL;}
OX_API ox_tuple ox_lstm_cell(ox_tensor*x,ox_tensor*const*states,int state_count,ox_tensor*w,ox_tensor*u,ox_tensor*b,ox_tensor*d){
if(state_count!=2){(void)oxi_fail(OX_ERR_ARG,"lstm_cell: %d states",state_count);
return oxi_no_tuple();}
oxi_work work=oxi_work_begin("lstm_cell");ox_tensor*state[2]={states[0],states[1]};
bool made=oxi_recurrent_cell(&oxi_kind_lstm,x,state,w,u,b,d);return oxi_tuple_end(&work,made?state[0]:NULL,state[1],NULL);}
#define OXI_X(name)\
OX_API ox_tuple ox_##name(ox_tensor*x,ox_tensor*h,ox_tensor*const*params,int param_count,\
bool has_biases,int64_t layers,double dropout,bool train,bool bidirectional,bool batch_first){\
oxi_recurrent r={&oxi_kind_##name,params,layers,bidirectional?2:1,0,has_biases,train,dropout};\
return oxi_recurrent_call(&r,x,&h,1,param_count,batch_first);}\
OX_API ox_tensor*ox_##name##_cell(ox_tensor*x,ox_tensor*h,ox_tensor*w,ox_tensor*u,ox_tensor*b,ox_tensor*d){\
oxi_work work=oxi_work_begin(#name "_cell");\
ox_tensor*state=h;\
bool made=oxi_recurrent_cell(&oxi_kind_##name,x,&state,w,u,b,d);\
return oxi_work_end(&work,made?state:NULL);}
OXI_X(gru)OXI_X(rnn_tanh)OXI_X(rnn_relu)
#undef OXI_X
/* >>nn/recurrent/packed.c */
static ox_packed oxi_no_packed(void){ox_packed p;memset(&p,0,sizeof p);return p;}
static ox_packed oxi_packed_end(oxi_work*work,ox_packed p){if(!p.data||!p.batch_sizes)p=oxi_no_packed();
if(p.data){ox_keep(p.data);
ox_keep(p.batch_sizes);if(p.sorted_indices)ox_keep(p.sorted_indices);
if(p.unsorted_indices)ox_keep(p.unsorted_indices);}
(void)oxi_work_end(work,NULL);return p;}
typedef struct oxi_run_of_steps{int64_t time,steps,count,row;}oxi_run_of_steps;typedef struct oxi_packed_steps{oxi_run_of_steps*run;
int64_t count,times,sequences,rows;size_t bytes;}oxi_packed_steps;static void oxi_packed_steps_free(oxi_packed_steps*r){
oxi_free(r->run,r->bytes);}
static int64_t*oxi_numbers_of(const char*name,ox_tensor*t,size_t*bytes){if(t->ndim!=1||!oxi_is_int(t->dtype))
return(int64_t*)OXI_FAIL_NULL(OX_ERR_SHAPE,"%s: %s is no list of integers",name,oxi_tensor_text(t));
int64_t count=ox_numel(t);*bytes=((size_t)count+1)*sizeof(int64_t);int64_t*numbers=(int64_t*)oxi_alloc(*bytes);
if(!numbers||ox_to_ints(t,numbers,count)==OX_OK)return numbers;
oxi_free(numbers,*bytes);return NULL;}
static bool oxi_steps_of_sizes(const char*name,const int64_t*sizes,int64_t times,oxi_packed_steps*r){memset(r,0,sizeof*r);
bool fits=times>0&&oxi_mul_size((size_t)times,sizeof*r->run,&r->bytes);
for(int64_t t=0;t<times&&fits;t++)fits=sizes[t]>0&&(t==0||sizes[t]<=sizes[t-1]);
if(!fits){(void)oxi_fail(OX_ERR_ARG,"%s: batch sizes that rise, are 0, or none",name);
return false;}
r->run=(oxi_run_of_steps*)oxi_alloc(r->bytes);if(!r->run)return false;
r->times=times;r->sequences=sizes[0];for(int64_t t=0;t<times&&fits;t++){if(t==0||sizes[t]!=sizes[t-1]){
oxi_run_of_steps begin={t,0,sizes[t],r->rows};r->run[r->count++]=begin;}
r->run[r->count-1].steps++;fits=oxi_add_i64(r->rows,sizes[t],&r->rows);}
if(!fits)oxi_packed_steps_free(r);
return fits;}
static bool oxi_packed_runs(const char*name,const ox_packed*p,oxi_packed_steps*r){size_t bytes;if(!p||!p->data||!p->batch_sizes){
if(ox_error()==OX_OK)(void)oxi_fail(OX_ERR_ARG,"%s: no packed sequence",name);
return false;}
int64_t*sizes=oxi_numbers_of(name,p->batch_sizes,&bytes);if(!sizes)return false;
bool made=oxi_steps_of_sizes(name,sizes,p->batch_sizes->shape[0],r);oxi_free(sizes,bytes);
if(!made||(p->data->ndim>0&&p->data->shape[0]==r->rows))return made;
(void)oxi_fail(OX_ERR_SHAPE,"%s: %lld steps in data %s",name,(long long)r->rows,oxi_tensor_text(p->data));oxi_packed_steps_free(r);
return false;}
static ox_tensor*oxi_run_rows(ox_tensor*data,const oxi_run_of_steps*run){
return ox_unflatten(ox_narrow(data,0,run->row,run->steps*run->count),0,OX_SHAPE(run->steps,run->count));}
static bool oxi_lengths_fit(const int64_t*lengths,int64_t count,int64_t most,bool sorted){for(int64_t i=0;i<count;i++){bool fits=
lengths[i]>0&&lengths[i]<=most&&(!sorted||i==0||lengths[i]<=lengths[i-1]);
if(fits)continue;
(void)oxi_fail(OX_ERR_ARG,"pack_padded_sequence: a length of %lld (sequence %lld) among up to %lld%s",
(long long)lengths[i],(long long)i,(long long)most,lengths[i]>0&&lengths[i]<=most?", which are not sorted":"");
return false;}
if(count>0)return true;
(void)oxi_fail(OX_ERR_ARG,"pack_padded_sequence: no sequences");return false;}
static ox_tensor*oxi_pack_runs(ox_tensor*x,const oxi_packed_steps*r){size_t bytes;ox_tensor**list=oxi_list_new(r->count,&bytes);
bool made=list!=NULL;for(int64_t i=0;i<r->count&&made;i++){const oxi_run_of_steps*run=&r->run[i];
ox_tensor*part=ox_narrow(ox_narrow(x,0,run->time,run->steps),1,0,run->count);made=(list[i]=part?ox_flatten(part,0,1):NULL)!=NULL;}
ox_tensor*data=made?ox_cat(list,(int)r->count,0):NULL;if(list)oxi_free(list,bytes);
return data;}
static ox_packed oxi_pack(ox_tensor*x,const int64_t*lengths,int64_t count,bool sorted){ox_packed p=oxi_no_packed();oxi_packed_steps r;
int64_t times=0;for(int64_t i=0;i<count;i++)times=lengths[i]>times?lengths[i]:times;
size_t bytes=(size_t)times*sizeof(int64_t);int64_t*sizes=(int64_t*)oxi_alloc(bytes);if(!sizes)return p;
memset(sizes,0,bytes);for(int64_t i=0;i<count;i++)sizes[lengths[i]-1]++;
for(int64_t t=times-1;t>0;t--)sizes[t-1]+=sizes[t];
if(!sorted){ox_tensor*order=ox_argsort(oxi_copied(lengths,OX_SHAPE(count),OX_I64),0,true);
p.sorted_indices=order;p.unsorted_indices=order?ox_argsort(order,0,false):NULL;
x=p.unsorted_indices?ox_index_select(x,1,ox_to(order,oxi_working_device(ox_device_of(x)))):NULL;}
p.batch_sizes=oxi_copied(sizes,OX_SHAPE(times),OX_I64);if(x&&oxi_steps_of_sizes("pack_padded_sequence",sizes,times,&r)){
p.data=oxi_pack_runs(x,&r);oxi_packed_steps_free(&r);}
oxi_free(sizes,bytes);return p;}
OX_API ox_packed ox_pack_padded_sequence(ox_tensor*x,ox_tensor*lengths,bool batch_first,bool enforce_sorted){ox_tensor*in[2]={x,lengths};
size_t bytes;if(oxi_any_null("pack_padded_sequence",in,2))return oxi_no_packed();
if(x->ndim<2||lengths->ndim!=1||lengths->shape[0]!=x->shape[batch_first?0:1]){
(void)oxi_fail(OX_ERR_SHAPE,"pack_padded_sequence: lengths %s of %s",oxi_tensor_text(lengths),oxi_tensor_text(x));return oxi_no_packed();
}
int64_t count=lengths->shape[0],*numbers=oxi_numbers_of("pack_padded_sequence",lengths,&bytes);if(!numbers)return oxi_no_packed();
oxi_work work=oxi_work_begin("pack_padded_sequence");ox_packed p=oxi_no_packed();if(batch_first)x=ox_transpose(x,0,1);
if(x&&oxi_lengths_fit(numbers,count,x->shape[0],enforce_sorted))
p=oxi_pack(x,numbers,count,enforce_sorted);
oxi_free(numbers,bytes);return oxi_packed_end(&work,p);}
OX_API ox_packed ox_packed_with(const ox_packed*p,ox_tensor*data){ox_packed out=oxi_no_packed();if(!data||!p||!p->batch_sizes)return out;
out=*p;out.data=data;return out;}
static ox_tensor*oxi_packed_padded(const ox_packed*p,const oxi_packed_steps*r,double value,int64_t total){size_t bytes;
ox_tensor**list=oxi_list_new(r->count,&bytes),*x=NULL;bool made=list!=NULL;for(int64_t i=0;i<r->count&&made;i++){
ox_tensor*part=oxi_run_rows(p->data,&r->run[i]);list[i]=part?oxi_pad_constant(part,1,0,r->sequences-r->run[i].count,value):NULL;
made=list[i]!=NULL;}
if(made)x=ox_cat(list,(int)r->count,0);
if(x&&total>r->times)x=oxi_pad_constant(x,0,0,total-r->times,value);
if(list)oxi_free(list,bytes);
if(!x||!p->unsorted_indices)return x;
return ox_index_select(x,1,ox_to(p->unsorted_indices,oxi_working_device(ox_device_of(x))));}
static ox_tensor*oxi_packed_lengths(const ox_packed*p,const oxi_packed_steps*r){
ox_tensor*sizes=ox_unsqueeze(ox_cast(p->batch_sizes,OX_I64),1);
ox_tensor*there=sizes?ox_gt(sizes,oxi_ramp_beside(sizes,r->sequences,OX_I64)):NULL;
ox_tensor*lengths=there?ox_sum(there,OX_DIMS(0),false):NULL;
return lengths&&p->unsorted_indices?ox_index_select(lengths,0,p->unsorted_indices):lengths;}
OX_API ox_tuple ox_pad_packed_sequence(const ox_packed*p,bool batch_first,double value,int64_t total){oxi_packed_steps r;
if(!oxi_packed_runs("pad_packed_sequence",p,&r))return oxi_no_tuple();
oxi_work work=oxi_work_begin("pad_packed_sequence");ox_tensor*x=NULL,*lengths=NULL;if(total!=0&&total<r.times)
(void)oxi_fail(OX_ERR_ARG,"pad_packed_sequence: %lld steps, %lld in all",(long long)r.times,(long long)total);
else if((lengths=oxi_packed_lengths(p,&r))!=NULL)
x=oxi_packed_padded(p,&r,value,total);
oxi_packed_steps_free(&r);if(x&&batch_first)x=ox_transpose(x,0,1);
return oxi_tuple_end(&work,x,lengths,NULL);}
static bool oxi_sequences_fit(const char*name,ox_tensor*const*list,int count,int64_t*most){*most=0;if(count<1||!list){
(void)oxi_fail(OX_ERR_ARG,"%s: no sequences",name);return false;}
if(oxi_any_null(name,list,count))return false;
for(int i=0;i<count;i++){bool fits=list[i]->ndim>0&&list[i]->ndim<OX_MAX_DIMS&&list[i]->ndim==list[0]->ndim&&
list[i]->dtype==list[0]->dtype;
for(int d=1;fits&&d<list[0]->ndim;d++)fits=list[i]->shape[d]==list[0]->shape[d];
if(!fits){(void)oxi_fail(OX_ERR_SHAPE,"%s: %s beside %s",name,oxi_tensor_text(list[i]),oxi_tensor_text(list[0]));
return false;}
*most=list[i]->shape[0]>*most?list[i]->shape[0]:*most;}
return true;}
OX_API ox_tensor*ox_pad_sequence(ox_tensor*const*list,int count,bool batch_first,double value,const char*side){
static const char*const sides[2]={"right","left"};int64_t most;size_t bytes;int left=oxi_mode_word("pad_sequence",sides,2,side);
if(left<0||!oxi_sequences_fit("pad_sequence",list,count,&most))return NULL;
ox_tensor**rows=oxi_list_new(count,&bytes);if(!rows)return NULL;
oxi_work work=oxi_work_begin("pad_sequence");bool made=true;for(int i=0;i<count&&made;i++){int64_t more=most-list[i]->shape[0];
rows[i]=oxi_pad_constant(list[i],0,left?more:0,left?0:more,value);made=rows[i]!=NULL;}
ox_tensor*x=made?ox_stack(rows,count,batch_first?0:1):NULL;oxi_free(rows,bytes);return oxi_work_end(&work,x);}
OX_API int64_t ox_unpad_sequence(ox_tensor*padded,ox_tensor*lengths,bool batch_first,ox_tensor**out,int64_t room){
ox_tensor*in[2]={padded,lengths};size_t bytes;int64_t made=0;if(oxi_any_null("unpad_sequence",in,2))return-1;
int of=batch_first?0:1;if(padded->ndim<2||lengths->ndim!=1||lengths->shape[0]!=padded->shape[of]){
(void)oxi_fail(OX_ERR_SHAPE,"unpad_sequence: lengths %s of %s",oxi_tensor_text(lengths),oxi_tensor_text(padded));return-1;}
int64_t count=lengths->shape[0],*numbers=oxi_numbers_of("unpad_sequence",lengths,&bytes);if(!numbers)return-1;
int64_t wanted=!out?0:room<count?room:count;for(;made<wanted;made++){oxi_work work=oxi_work_begin("unpad_sequence");
out[made]=oxi_work_end(&work,ox_narrow(ox_select(padded,of,made),0,0,numbers[made]));if(!out[made])break;}
oxi_free(numbers,bytes);return oxi_results_end(out,made,wanted)<0?-1:count;}
OX_API ox_packed ox_pack_sequence(ox_tensor*const*list,int count,bool enforce_sorted){int64_t most;
size_t bytes=(size_t)(count>0?count:1)*sizeof(int64_t);if(!oxi_sequences_fit("pack_sequence",list,count,&most))return oxi_no_packed();
int64_t*lengths=(int64_t*)oxi_alloc(bytes);if(!lengths)return oxi_no_packed();
for(int i=0;i<count;i++)lengths[i]=list[i]->shape[0];
oxi_work work=oxi_work_begin("pack_sequence");ox_packed p=oxi_no_packed();if(oxi_lengths_fit(lengths,count,most,enforce_sorted)){
ox_tensor*x=ox_pad_sequence(list,count,false,0,NULL);if(x)p=oxi_pack(x,lengths,count,enforce_sorted);}
oxi_free(lengths,bytes);return oxi_packed_end(&work,p);}
static ox_tensor*oxi_state_with(ox_tensor*first,ox_tensor*rest){ox_tensor*both[2]={first,rest};
if(!first||!rest||rest->shape[0]==0)return first;
return ox_cat(both,2,0);}
static ox_tensor*oxi_packed_direction(const oxi_recurrent*whole,int64_t place,bool backward,
const oxi_packed_steps*r,ox_tensor*data,ox_tensor**state,ox_tensor**list){oxi_recurrent own=*whole;
int sorts=whole->kind->states;ox_tensor*now[2]={NULL,NULL};own.params=whole->params+place*whole->each;own.layers=own.directions=1;
own.dropout=0;for(int64_t i=0;i<r->count;i++){int64_t k=backward?r->count-1 -i:i;
const oxi_run_of_steps*run=&r->run[k];int64_t had=i==0?0:now[0]->shape[0];for(int s=0;s<sorts;s++){if(i==0)
now[s]=ox_narrow(state[s],0,0,run->count);
else if(backward)
now[s]=oxi_state_with(now[s],ox_narrow(state[s],0,had,run->count-had));
else{ox_tensor*over=ox_narrow(now[s],0,run->count,had-run->count);
state[s]=i==1?over:oxi_state_with(over,state[s]);now[s]=ox_narrow(now[s],0,0,run->count);}}
ox_tensor*x=oxi_run_rows(data,run),*begin[2]={NULL,NULL};for(int s=0;s<sorts;s++)begin[s]=now[s]?ox_unsqueeze(now[s],0):NULL;
if(!x||!begin[0]||(sorts==2&&!begin[1]))return NULL;
ox_tuple made=oxi_recurrent_call(&own,backward?ox_flip(x,OX_DIMS(0)):x,begin,sorts,whole->each,false);if(!made.t[0])return NULL;
for(int s=0;s<sorts;s++)now[s]=ox_squeeze(made.t[1 +s],0);
ox_tensor*y=backward?ox_flip(made.t[0],OX_DIMS(0)):made.t[0];list[k]=ox_flatten(y,0,1);if(!list[k])return NULL;}
for(int s=0;s<sorts;s++)
state[s]=backward||r->count==1?now[s]:oxi_state_with(now[s],state[s]);
return ox_cat(list,(int)r->count,0);}
static ox_tensor*oxi_packed_layers(const oxi_recurrent*w,const oxi_packed_steps*r,ox_tensor*data,
ox_tensor*const*states,ox_tensor**last,ox_tensor**list){int64_t all=w->layers*w->directions;
for(int64_t place=0;place<all;){ox_tensor*sides[2]={NULL,NULL};
for(int side=0;side<w->directions;side++,place++){ox_tensor*state[2]={NULL,NULL};
for(int s=0;s<w->kind->states;s++)state[s]=ox_select(states[s],0,place);
sides[side]=oxi_packed_direction(w,place,side==1,r,data,state,list);if(!sides[side])return NULL;
for(int s=0;s<w->kind->states;s++)last[s*all+place]=state[s];}
data=w->directions==2?ox_cat(sides,2,1):sides[0];if(place<all&&w->dropout>0)data=ox_dropout(data,w->dropout,w->train);
if(!data)return NULL;}
return data;}
static ox_tensor*oxi_states_by(ox_tensor*state,ox_tensor*order){if(!state||!order)return state;
return ox_index_select(state,1,ox_to(order,oxi_working_device(ox_device_of(state))));}
static ox_tuple oxi_packed_work(oxi_recurrent*w,const ox_packed*p,const oxi_packed_steps*r,
ox_tensor*const*states,int state_count,int param_count){ox_tensor*begin[2]={NULL,NULL},*last[2]={NULL,NULL},*y=NULL;
size_t bytes;int64_t all=w->layers*w->directions;oxi_work work=oxi_work_begin(w->kind->name);
ox_tensor*like=oxi_run_rows(p->data,&r->run[0]);bool there=like&&oxi_recurrent_fits(w,like,states,state_count,param_count,1);
ox_tensor**list=there?oxi_list_new(r->count+2*all,&bytes):NULL;if(!list)return oxi_tuple_end(&work,NULL,NULL,NULL);
w->each=(int)(param_count/all);for(int s=0;s<state_count;s++){begin[s]=oxi_states_by(states[s],p->sorted_indices);
there=there&&begin[s];}
if(there)y=oxi_packed_layers(w,r,p->data,begin,list+r->count,list);
for(int s=0;s<state_count&&y;s++){last[s]=ox_stack(list+r->count+s*all,(int)all,0);
last[s]=oxi_states_by(last[s],p->unsorted_indices);}
oxi_free(list,bytes);if(state_count==2&&!last[1])y=NULL;
return oxi_tuple_end(&work,y,last[0],last[1]);}
static ox_tuple oxi_packed_call(oxi_recurrent*w,const ox_packed*p,ox_tensor*const*states,int state_count,int param_count){
const char*name=w->kind->name;oxi_packed_steps r;if(state_count<1||param_count<1||oxi_any_null(name,states,state_count)||
oxi_any_null(name,w->params,param_count))
return oxi_no_tuple();
if(!oxi_packed_runs(name,p,&r))return oxi_no_tuple();
ox_tuple made=oxi_no_tuple();if(p->data->ndim!=2)
(void)oxi_fail(OX_ERR_SHAPE,"%s: packed data %s",name,oxi_tensor_text(p->data));
else if(w->layers<1)
(void)oxi_fail(OX_ERR_ARG,"%s: %lld layers",name,(long long)w->layers);
else
made=oxi_packed_work(w,p,&r,states,state_count,param_count);
oxi_packed_steps_free(&r);return made;}
OX_API ox_tuple ox_lstm_packed(const ox_packed*p,ox_tensor*const*states,int state_count,
ox_tensor*const*params,int param_count,bool has_biases,int64_t layers,double dropout,bool train,bool bidirectional){
oxi_recurrent w={&oxi_kind_lstm,params,layers,bidirectional?2:1,0,has_biases,train,dropout};
return oxi_packed_call(&w,p,states,state_count,param_count);}
#define OXI_X(name)\
OX_API ox_tuple ox_##name##_packed(const ox_packed*p,ox_tensor*h,ox_tensor*const*params,\
int param_count,bool has_biases,int64_t layers,double dropout,bool train,bool bidirectional){\
oxi_recurrent w={&oxi_kind_##name,params,layers,bidirectional?2:1,0,has_biases,train,dropout};\
return oxi_packed_call(&w,p,&h,1,param_count);}
OXI_X(gru)OXI_X(rnn_tanh)OXI_X(rnn_relu)
#undef OXI_X
/* >>nn/distributions/densities.c */
#define OXI_GUMBEL_MEAN 0.57721566490153286
#define OXI_LOG_PI 1.1447298858494002
#define OXI_DENSITY(name)\
static ox_tensor*oxi_density_##name(const ox_distribution*d,ox_tensor*const*p,ox_tensor*x)
#define OXI_MOMENT(what,name)\
static ox_tensor*oxi_##what##_##name(const ox_distribution*d,ox_tensor*const*p)
#define OXI_MOMENT_OF(what,name, ...)\
OXI_MOMENT(what,name){\
(void)d;\
return(__VA_ARGS__);}
static ox_tensor*oxi_plus(ox_tensor*x,double number){return ox_add_number(x,number);}
static ox_tensor*oxi_times(ox_tensor*x,double number){return ox_mul_number(x,number);}
static ox_tensor*oxi_sum_last(ox_tensor*x){return ox_sum(x,OX_DIMS(-1),false);}
static ox_tensor*oxi_nan_like(ox_tensor*x){return x?ox_full_like(x,NAN):NULL;}
static ox_tensor*oxi_not_there(const char*what){
return OXI_FAIL_NULL(OX_ERR_UNSUPPORTED,"distribution: %s of this kind is not there",what);}
static ox_tensor*oxi_inside_0_1(ox_tensor*p){double eps=!p?0:p->dtype==OX_F64?DBL_EPSILON:p->dtype==OX_F32?FLT_EPSILON:0.0009765625;
if(p&&p->dtype==OX_BF16)eps=0.0078125;
return ox_clamp(p,eps,1 -eps);}
static ox_tensor*oxi_binary_logits(ox_tensor*const*p){if(!p[0])return p[1];
ox_tensor*inside=oxi_inside_0_1(p[0]);return ox_sub(ox_log(inside),ox_log1p(ox_neg(inside)));}
static ox_tensor*oxi_binary_probs(ox_tensor*const*p){return p[0]?p[0]:ox_sigmoid(p[1]);}
static ox_tensor*oxi_class_probs(ox_tensor*const*p){return p[0]?ox_div(p[0],ox_sum(p[0],OX_DIMS(-1),true)):ox_softmax(p[1],-1);}
static ox_tensor*oxi_categorical_logits(ox_tensor*const*p){
return p[0]?ox_log(oxi_inside_0_1(oxi_class_probs(p))):ox_log_softmax(p[1],-1);}
static ox_tensor*oxi_softplus_of(ox_tensor*x){return ox_neg(ox_logsigmoid(ox_neg(x)));}
static ox_tensor*oxi_standard(ox_tensor*const*p,ox_tensor*x){return ox_div(ox_sub(x,p[0]),p[1]);}
OXI_DENSITY(normal){(void)d;ox_tensor*terms=ox_add(oxi_times(ox_square(oxi_standard(p,x)),0.5),ox_log(p[1]));
return ox_neg(oxi_plus(terms,0.5*OXI_LOG_2_PI));}
OXI_MOMENT_OF(entropy,normal,ox_add(oxi_plus(ox_log(p[1]),0.5 +0.5*OXI_LOG_2_PI),ox_zeros_like(p[0])))
OXI_MOMENT_OF(mean,normal,ox_add(p[0],ox_zeros_like(p[1])))
OXI_MOMENT_OF(variance,normal,ox_add(ox_square(p[1]),ox_zeros_like(p[0])))
OXI_DENSITY(log_normal){ox_tensor*log=ox_log(x);
return ox_sub(oxi_density_normal(d,p,log),log);}
OXI_MOMENT_OF(entropy,log_normal,ox_add(oxi_entropy_normal(d,p),p[0]))
OXI_MOMENT_OF(mean,log_normal,ox_exp(ox_add(p[0],oxi_times(ox_square(p[1]),0.5))))
OXI_MOMENT(variance,log_normal){(void)d;
ox_tensor*square=ox_square(p[1]);return ox_mul(ox_expm1(square),ox_exp(ox_add(oxi_times(p[0],2),square)));}
OXI_DENSITY(laplace){(void)d;return ox_neg(ox_add(ox_log(oxi_times(p[1],2)),ox_div(ox_abs(ox_sub(x,p[0])),p[1])));}
OXI_MOMENT_OF(entropy,laplace,ox_add(oxi_plus(ox_log(oxi_times(p[1],2)),1),ox_zeros_like(p[0])))
OXI_MOMENT_OF(mean,laplace,oxi_mean_normal(d,p))
OXI_MOMENT_OF(variance,laplace,oxi_times(oxi_variance_normal(d,p),2))
OXI_DENSITY(cauchy){(void)d;
ox_tensor*tail=ox_log1p(ox_square(oxi_standard(p,x)));return ox_neg(oxi_plus(ox_add(ox_log(p[1]),tail),OXI_LOG_PI));}
OXI_MOMENT_OF(entropy,cauchy,ox_add(oxi_plus(ox_log(p[1]),OXI_LOG_PI+2*0.69314718055994531),ox_zeros_like(p[0])))
OXI_MOMENT_OF(mean,cauchy,oxi_nan_like(oxi_mean_normal(d,p)))
OXI_MOMENT_OF(variance,cauchy,ox_full_like(oxi_mean_normal(d,p),INFINITY))
OXI_DENSITY(gumbel){(void)d;
ox_tensor*y=ox_neg(oxi_standard(p,x));return ox_sub(ox_sub(y,ox_exp(y)),ox_log(p[1]));}
OXI_MOMENT_OF(entropy,gumbel,ox_add(oxi_plus(ox_log(p[1]),1 +OXI_GUMBEL_MEAN),ox_zeros_like(p[0])))
OXI_MOMENT_OF(mean,gumbel,ox_add(p[0],oxi_times(p[1],OXI_GUMBEL_MEAN)))
OXI_MOMENT_OF(variance,gumbel,oxi_times(oxi_variance_normal(d,p),OXI_PI_F64*OXI_PI_F64/6))
OXI_DENSITY(student_t){(void)d;
ox_tensor*y=oxi_standard(p+1,x),*half=oxi_times(p[0],0.5),*more=oxi_plus(half,0.5);
ox_tensor*size=ox_add(ox_log(p[2]),oxi_times(oxi_plus(ox_log(p[0]),OXI_LOG_PI),0.5));
size=ox_sub(ox_add(size,ox_lgamma(half)),ox_lgamma(more));return ox_neg(ox_add(ox_mul(more,ox_log1p(ox_div(ox_square(y),p[0]))),size));}
OXI_MOMENT(entropy,student_t){(void)d;ox_tensor*half=oxi_times(p[0],0.5),*more=oxi_plus(half,0.5);
ox_tensor*beta=ox_sub(ox_lgamma(half),ox_lgamma(more));beta=oxi_plus(ox_add(beta,oxi_times(ox_log(p[0]),0.5)),0.5*OXI_LOG_PI);
ox_tensor*curve=ox_mul(more,ox_sub(ox_digamma(more),ox_digamma(half)));
return ox_add(ox_add(ox_log(p[2]),ox_add(curve,beta)),ox_zeros_like(p[1]));}
OXI_MOMENT_OF(mean,student_t,ox_where(ox_le_number(p[0],1),ox_number(NAN),ox_add(p[1],ox_zeros_like(p[2]))))
OXI_MOMENT(variance,student_t){(void)d;
ox_tensor*some=ox_gt_number(p[0],2),*safe=ox_where(some,p[0],ox_number(3));
ox_tensor*made=ox_div(ox_mul(ox_square(p[2]),safe),oxi_plus(safe,-2));
made=ox_where(some,made,ox_where(ox_gt_number(p[0],1),ox_number(INFINITY),ox_number(NAN)));return ox_add(made,ox_zeros_like(p[1]));}
static ox_tensor*oxi_whitened(ox_tensor*factor,ox_tensor*x){
return ox_squeeze(ox_solve_triangular(factor,ox_unsqueeze(x,-1),false,true,false),-1);}
static ox_tensor*oxi_half_log_det(ox_tensor*factor){return oxi_sum_last(ox_log(ox_diagonal(factor,0,-2,-1)));}
OXI_DENSITY(multivariate_normal){(void)d;ox_tensor*y=oxi_sum_last(ox_square(oxi_whitened(p[1],ox_sub(x,p[0]))));
y=oxi_times(oxi_plus(y,(double)p[0]->shape[p[0]->ndim-1]*OXI_LOG_2_PI),0.5);
return ox_neg(ox_add(y,oxi_half_log_det(p[1])));}
OXI_MOMENT(entropy,multivariate_normal){(void)d;double k=(double)p[0]->shape[p[0]->ndim-1];
ox_tensor*made=oxi_plus(oxi_half_log_det(p[1]),0.5*k*(1 +OXI_LOG_2_PI));
return ox_add(made,oxi_times(oxi_sum_last(ox_zeros_like(p[0])),0));}
OXI_MOMENT_OF(mean,multivariate_normal,ox_add(p[0],oxi_sum_last(ox_zeros_like(p[1]))))
OXI_MOMENT_OF(variance,multivariate_normal,ox_add(oxi_sum_last(ox_square(p[1])),ox_zeros_like(p[0])))
OXI_DENSITY(uniform){(void)d;
ox_tensor*inside=ox_logical_and(ox_le(p[0],x),ox_lt(x,p[1]));
return ox_where(inside,ox_neg(ox_log(ox_sub(p[1],p[0]))),ox_number(-INFINITY));}
OXI_MOMENT_OF(entropy,uniform,ox_log(ox_sub(p[1],p[0])))
OXI_MOMENT_OF(mean,uniform,oxi_times(ox_add(p[0],p[1]),0.5))
OXI_MOMENT_OF(variance,uniform,oxi_times(ox_square(ox_sub(p[1],p[0])),1.0/12))
OXI_DENSITY(exponential){(void)d;
return ox_sub(ox_log(p[0]),ox_mul(p[0],x));}
OXI_MOMENT_OF(entropy,exponential,ox_rsub_number(ox_log(p[0]),1))
OXI_MOMENT_OF(mean,exponential,ox_reciprocal(p[0]))
OXI_MOMENT_OF(variance,exponential,ox_square(ox_reciprocal(p[0])))
OXI_DENSITY(gamma){(void)d;
ox_tensor*made=ox_add(ox_xlogy(p[0],p[1]),ox_xlogy(oxi_plus(p[0],-1),x));return ox_sub(ox_sub(made,ox_mul(p[1],x)),ox_lgamma(p[0]));}
OXI_MOMENT(entropy,gamma){(void)d;ox_tensor*curve=ox_mul(ox_rsub_number(p[0],1),ox_digamma(p[0]));
return ox_add(ox_add(ox_sub(p[0],ox_log(p[1])),ox_lgamma(p[0])),curve);}
OXI_MOMENT_OF(mean,gamma,ox_div(p[0],p[1]))
OXI_MOMENT_OF(variance,gamma,ox_div(p[0],ox_square(p[1])))
static ox_tensor*oxi_log_beta(ox_tensor*const*p){return ox_sub(ox_add(ox_lgamma(p[0]),ox_lgamma(p[1])),ox_lgamma(ox_add(p[0],p[1])));}
OXI_DENSITY(beta){(void)d;ox_tensor*made=ox_add(ox_xlogy(oxi_plus(p[0],-1),x),ox_xlog1py(oxi_plus(p[1],-1),ox_neg(x)));
return ox_sub(made,oxi_log_beta(p));}
OXI_MOMENT(entropy,beta){(void)d;ox_tensor*sum=ox_add(p[0],p[1]),*made=ox_mul(oxi_plus(sum,-2),ox_digamma(sum));
for(int i=0;i<2;i++)made=ox_sub(made,ox_mul(oxi_plus(p[i],-1),ox_digamma(p[i])));
return ox_add(made,oxi_log_beta(p));}
OXI_MOMENT_OF(mean,beta,ox_div(p[0],ox_add(p[0],p[1])))
OXI_MOMENT(variance,beta){(void)d;
ox_tensor*sum=ox_add(p[0],p[1]);return ox_div(ox_mul(p[0],p[1]),ox_mul(ox_square(sum),oxi_plus(sum,1)));}
OXI_DENSITY(dirichlet){(void)d;ox_tensor*made=oxi_sum_last(ox_xlogy(oxi_plus(p[0],-1),x));
return ox_sub(ox_add(made,ox_lgamma(oxi_sum_last(p[0]))),oxi_sum_last(ox_lgamma(p[0])));}
OXI_MOMENT(entropy,dirichlet){(void)d;ox_tensor*sum=oxi_sum_last(p[0]);
ox_tensor*made=ox_sub(oxi_sum_last(ox_lgamma(p[0])),ox_lgamma(sum));
made=ox_sub(made,ox_mul(ox_rsub_number(sum,(double)p[0]->shape[p[0]->ndim-1]),ox_digamma(sum)));
return ox_sub(made,oxi_sum_last(ox_mul(oxi_plus(p[0],-1),ox_digamma(p[0]))));}
OXI_MOMENT_OF(mean,dirichlet,ox_div(p[0],ox_sum(p[0],OX_DIMS(-1),true)))
OXI_MOMENT(variance,dirichlet){(void)d;
ox_tensor*sum=ox_sum(p[0],OX_DIMS(-1),true);return ox_div(ox_mul(p[0],ox_sub(sum,p[0])),ox_mul(ox_square(sum),oxi_plus(sum,1)));}
OXI_DENSITY(bernoulli){(void)d;return ox_neg(oxi_logit_terms(oxi_binary_logits(p),x,NULL));}
OXI_MOMENT_OF(entropy,bernoulli,oxi_logit_terms(oxi_binary_logits(p),oxi_binary_probs(p),NULL))
OXI_MOMENT_OF(mean,bernoulli,oxi_times(oxi_binary_probs(p),1))
OXI_MOMENT(variance,bernoulli){(void)d;
ox_tensor*probs=oxi_binary_probs(p);return ox_mul(probs,ox_rsub_number(probs,1));}
OXI_DENSITY(geometric){(void)d;ox_tensor*probs=oxi_binary_probs(p);return ox_add(ox_xlog1py(x,ox_neg(probs)),ox_log(probs));}
OXI_MOMENT_OF(entropy,geometric,ox_div(oxi_entropy_bernoulli(d,p),oxi_binary_probs(p)))
OXI_MOMENT_OF(mean,geometric,oxi_plus(ox_reciprocal(oxi_binary_probs(p)),-1))
OXI_MOMENT(variance,geometric){(void)d;
ox_tensor*probs=oxi_binary_probs(p);return ox_div(oxi_plus(ox_reciprocal(probs),-1),probs);}
OXI_DENSITY(binomial){double n=(double)d->count;
ox_tensor*logits=oxi_binary_logits(p),*ways=ox_lgamma(ox_rsub_number(x,n+1));
ways=ox_rsub_number(ox_add(ox_lgamma(oxi_plus(x,1)),ways),lgamma(n+1));
return ox_sub(ox_add(ways,ox_mul(x,logits)),oxi_times(oxi_softplus_of(logits),n));}
OXI_MOMENT_OF(entropy,binomial,(void)p,oxi_not_there("entropy"))
OXI_MOMENT_OF(mean,binomial,oxi_times(oxi_binary_probs(p),(double)d->count))
OXI_MOMENT_OF(variance,binomial,oxi_times(oxi_variance_bernoulli(d,p),(double)d->count))
OXI_DENSITY(categorical){(void)d;
ox_tensor*logits=oxi_categorical_logits(p),*at=ox_unsqueeze(ox_cast(x,OX_I64),-1);if(!logits||!at)return NULL;
ox_tensor*one=ox_narrow(logits,-1,0,1),*both[2]={one,at};ox_shape shape;if(!one||!oxi_common_shape("log_prob",both,2,&shape))return NULL;
at=ox_contiguous(ox_expand(at,shape));shape.dim[shape.ndim-1]=logits->shape[logits->ndim-1];
return ox_squeeze(ox_gather(ox_expand(logits,shape),-1,at),-1);}
OXI_MOMENT(entropy,categorical){(void)d;ox_tensor*probs=oxi_class_probs(p),*logits=oxi_categorical_logits(p);
return ox_neg(oxi_sum_last(ox_where(ox_eq_number(probs,0),ox_number(0),ox_mul(probs,logits))));}
OXI_MOMENT_OF(mean,categorical,(void)p,oxi_not_there("mean"))
OXI_MOMENT_OF(variance,categorical,(void)p,oxi_not_there("variance"))
OXI_DENSITY(multinomial){(void)d;
ox_tensor*logits=oxi_categorical_logits(p);ox_tensor*terms=ox_where(ox_eq_number(x,0),ox_number(0),ox_mul(x,logits));ox_tensor*ways=
ox_sub(ox_lgamma(oxi_plus(oxi_sum_last(x),1)),oxi_sum_last(ox_lgamma(oxi_plus(x,1))));
return ox_add(ways,oxi_sum_last(terms));}
OXI_MOMENT_OF(entropy,multinomial,(void)p,oxi_not_there("entropy"))
OXI_MOMENT_OF(mean,multinomial,oxi_times(oxi_class_probs(p),(double)d->count))
OXI_MOMENT(variance,multinomial){ox_tensor*probs=oxi_class_probs(p);
return oxi_times(ox_mul(probs,ox_rsub_number(probs,1)),(double)d->count);}
OXI_DENSITY(poisson){(void)d;return ox_sub(ox_sub(ox_xlogy(x,p[0]),p[0]),ox_lgamma(oxi_plus(x,1)));}
OXI_MOMENT_OF(entropy,poisson,(void)p,oxi_not_there("entropy"))
OXI_MOMENT_OF(mean,poisson,oxi_times(p[0],1))
OXI_MOMENT_OF(variance,poisson,oxi_times(p[0],1))
/* >>nn/distributions/draws.c */
#define OXI_DRAW(name)\
static ox_tensor*oxi_draw_##name(const ox_distribution*d,ox_tensor*const*p,ox_shape shape)
enum{OXI_DRAW_ROUNDS=64};
static ox_tensor*oxi_blank(ox_tensor*const*p,ox_shape shape){ox_tensor*beside=p[0]?p[0]:p[1];
ox_dtype dtype=beside->dtype==OX_F64?OX_F64:OX_F32;return oxi_full("sample",shape,0,dtype,oxi_working_device(ox_device_of(beside)));}
static ox_tensor*oxi_normals(ox_tensor*const*p,ox_shape shape){return ox_normal_(oxi_blank(p,shape),0,1);}
static ox_tensor*oxi_uniforms(ox_tensor*const*p,ox_shape shape){return ox_uniform_(oxi_blank(p,shape),0,1);}
static ox_tensor*oxi_exponentials(ox_tensor*const*p,ox_shape shape){return ox_exponential_(oxi_blank(p,shape),1);}
static ox_tensor*oxi_located(ox_tensor*const*p,ox_tensor*standard){return ox_add(p[0],ox_mul(p[1],standard));}
OXI_DRAW(normal){(void)d;return oxi_located(p,oxi_normals(p,shape));}
OXI_DRAW(log_normal){return ox_exp(oxi_draw_normal(d,p,shape));}
OXI_DRAW(uniform){(void)d;return ox_add(p[0],ox_mul(ox_sub(p[1],p[0]),oxi_uniforms(p,shape)));}
OXI_DRAW(exponential){(void)d;return ox_div(oxi_exponentials(p,shape),p[0]);}
OXI_DRAW(laplace){(void)d;ox_tensor*side=ox_sub_number(ox_mul_number(oxi_uniforms(p,shape),2),1);
return oxi_located(p,ox_mul(ox_sign(side),oxi_exponentials(p,shape)));}
OXI_DRAW(cauchy){(void)d;return oxi_located(p,ox_cauchy_(oxi_blank(p,shape),0,1));}
OXI_DRAW(gumbel){(void)d;return oxi_located(p,ox_neg(ox_log(oxi_exponentials(p,shape))));}
OXI_DRAW(multivariate_normal){(void)d;ox_tensor*standard=ox_unsqueeze(oxi_normals(p,shape),-1);
return ox_add(p[0],ox_squeeze(ox_matmul(p[1],standard),-1));}
OXI_DRAW(bernoulli){(void)d;ox_tensor*probs=oxi_binary_probs(p);return probs?ox_bernoulli(ox_expand(probs,shape)):NULL;}
OXI_DRAW(geometric){(void)d;ox_tensor*rate=ox_neg(ox_log1p(ox_neg(oxi_binary_probs(p))));
return ox_floor(ox_div(oxi_exponentials(p,shape),rate));}
OXI_DRAW(binomial){ox_tensor*sum=oxi_blank(p,shape),*probs=ox_expand(oxi_binary_probs(p),shape);
for(int64_t i=0;i<d->count&&sum;i++)sum=ox_add_(sum,ox_bernoulli(probs));
return sum;}
static ox_tensor*oxi_draw_classes(ox_tensor*const*p,int64_t count){ox_tensor*probs=oxi_class_probs(p);if(!probs)return NULL;
ox_shape batch=ox_shape_of(probs);int64_t classes=batch.dim[--batch.ndim];
ox_tensor*rows=ox_multinomial(ox_reshape(probs,OX_SHAPE(-1,classes)),count,true);
for(int i=batch.ndim;i>0;i--)batch.dim[i]=batch.dim[i-1];
batch.dim[0]=count;batch.ndim++;return ox_reshape(ox_t(rows),batch);}
OXI_DRAW(categorical){int64_t count=1,batch=1;const ox_tensor*given=p[0]?p[0]:p[1];(void)d;
for(int i=0;i<given->ndim-1;i++)batch*=given->shape[i];
for(int i=0;i<shape.ndim-given->ndim+1;i++)count*=shape.dim[i];
if(count==0||batch==0)return oxi_full("sample",shape,0,OX_I64,ox_device_of(given));
return ox_reshape(oxi_draw_classes(p,count),shape);}
OXI_DRAW(multinomial){ox_shape trials=shape;ox_tensor*sum=NULL;trials.ndim--;for(int64_t i=0;i<d->count;i++){
ox_tensor*one=ox_one_hot(oxi_draw_categorical(d,p,trials),shape.dim[shape.ndim-1]);sum=sum?ox_add(sum,one):one;}
ox_tensor*blank=oxi_blank(p,shape);return sum?ox_cast(sum,blank?blank->dtype:OX_F32):blank;}
static bool oxi_round(ox_tensor**made,ox_tensor**missing,ox_tensor*candidate,ox_tensor*taken){
ox_tensor*now=ox_logical_and(*missing,taken);*made=ox_where(now,candidate,*made);*missing=ox_logical_and(*missing,ox_logical_not(taken));
return*made&&*missing&&ox_item_int(ox_any(*missing,OX_ALL_DIMS,false))!=0;}
static ox_tensor*oxi_gammas(ox_tensor*a,ox_shape shape){
ox_tensor*p[2]={a,NULL},*made=oxi_blank(p,shape),*missing=made?ox_eq_number(made,0):NULL;
ox_tensor*small=ox_lt_number(a,1),*raised=ox_where(small,ox_add_number(a,1),a);
ox_tensor*scale=ox_sub_number(raised,1.0/3),*c=ox_rsqrt(ox_mul_number(scale,9));for(int round=0;round<OXI_DRAW_ROUNDS&&missing;round++){
ox_tensor*x=oxi_normals(p,shape),*v=ox_add_number(ox_mul(c,x),1);v=ox_mul(v,ox_square(v));
ox_tensor*above=ox_gt_number(v,0),*log=ox_log(ox_where(above,v,ox_number(1)));ox_tensor*bound=
ox_add(ox_mul_number(ox_square(x),0.5),ox_mul(scale,ox_rsub_number(ox_sub(v,log),1)));
ox_tensor*taken=ox_logical_and(above,ox_gt(bound,ox_neg(oxi_exponentials(p,shape))));
if(!oxi_round(&made,&missing,ox_mul(scale,v),taken))break;}
ox_tensor*less=ox_exp(ox_neg(ox_div(oxi_exponentials(p,shape),a)));return ox_where(small,ox_mul(made,less),made);}
OXI_DRAW(gamma){(void)d;return ox_div(oxi_gammas(p[0],shape),p[1]);}
OXI_DRAW(beta){(void)d;ox_tensor*one=oxi_gammas(p[0],shape),*other=oxi_gammas(p[1],shape);return ox_div(one,ox_add(one,other));}
OXI_DRAW(dirichlet){(void)d;ox_tensor*parts=oxi_gammas(p[0],shape);return ox_div(parts,ox_sum(parts,OX_DIMS(-1),true));}
OXI_DRAW(student_t){(void)d;ox_tensor*mean_square=ox_div(oxi_gammas(ox_mul_number(p[0],0.5),shape),ox_mul_number(p[0],0.5));
return oxi_located(p+1,ox_mul(oxi_normals(p,shape),ox_rsqrt(mean_square)));}
static ox_tensor*oxi_poisson_small(ox_tensor*rate,ox_shape shape){
ox_tensor*p[2]={rate,NULL},*time=oxi_exponentials(p,shape),*made=oxi_blank(p,shape);
for(int round=0;round<4*OXI_DRAW_ROUNDS&&made&&time;round++){ox_tensor*inside=ox_lt(time,rate);
if(ox_item_int(ox_any(inside,OX_ALL_DIMS,false))==0)break;
made=ox_add(made,ox_cast(inside,made->dtype));time=ox_add(time,oxi_exponentials(p,shape));}
return made;}
static ox_tensor*oxi_poisson_large(ox_tensor*rate,ox_shape shape){ox_tensor*p[2]={rate,NULL},*made=oxi_blank(p,shape),
*missing=made?ox_eq_number(made,0):NULL;
ox_tensor*b=ox_add_number(ox_mul_number(ox_sqrt(rate),2.53),0.931);
ox_tensor*a=ox_sub_number(ox_mul_number(b,0.02483),0.059),*log_rate=ox_log(rate);
ox_tensor*inverse=ox_add_number(ox_rdiv_number(ox_sub_number(b,3.4),1.1328),1.1239);
ox_tensor*quick=ox_rsub_number(ox_rdiv_number(ox_sub_number(b,2),3.6224),0.9277);for(int round=0;round<OXI_DRAW_ROUNDS&&missing;round++){
ox_tensor*u=ox_sub_number(oxi_uniforms(p,shape),0.5),*v=ox_rsub_number(oxi_uniforms(p,shape),1);
ox_tensor*us=ox_rsub_number(ox_abs(u),0.5);ox_tensor*wide=ox_add(ox_div(ox_mul_number(a,2),us),b);
ox_tensor*k=ox_floor(ox_add_number(ox_add(ox_mul(wide,u),rate),0.43));
ox_tensor*at_once=ox_logical_and(ox_ge_number(us,0.07),ox_le(v,quick));ox_tensor*never=
ox_logical_or(ox_lt_number(k,0),ox_logical_and(ox_lt_number(us,0.013),ox_gt(v,us)));
ox_tensor*left=ox_log(ox_div(ox_mul(v,inverse),ox_add(ox_div(a,ox_square(us)),b)));ox_tensor*kept=ox_where(never,ox_number(0),k);
ox_tensor*right=ox_sub(ox_sub(ox_mul(kept,log_rate),rate),ox_lgamma(ox_add_number(kept,1)));
ox_tensor*taken=ox_logical_and(ox_logical_not(never),ox_le(left,right));
if(!oxi_round(&made,&missing,k,ox_logical_or(at_once,taken)))break;}
return made;}
OXI_DRAW(poisson){(void)d;ox_tensor*large=ox_ge_number(p[0],10);ox_tensor*few=oxi_poisson_small(ox_clamp(p[0],-INFINITY,10),shape);
return ox_where(large,oxi_poisson_large(ox_clamp(p[0],10,INFINITY),shape),few);}
/* >>nn/distributions/divergences.c */
#define OXI_DIVERGENCE(name)\
static ox_tensor*oxi_divergence_##name(const ox_distribution*d,ox_tensor*const*p,ox_tensor*const*q)
OXI_DIVERGENCE(normal){(void)d;
ox_tensor*ratio=ox_square(ox_div(p[1],q[1])),*apart=ox_square(ox_div(ox_sub(p[0],q[0]),q[1]));
return oxi_times(ox_sub(oxi_plus(ox_add(ratio,apart),-1),ox_log(ratio)),0.5);}
OXI_DIVERGENCE(log_normal){return oxi_divergence_normal(d,p,q);}
OXI_DIVERGENCE(uniform){(void)d;ox_tensor*outside=ox_logical_or(ox_gt(q[0],p[0]),ox_lt(q[1],p[1]));
ox_tensor*ratio=ox_div(ox_sub(q[1],q[0]),ox_sub(p[1],p[0]));return ox_where(outside,ox_number(INFINITY),ox_log(ratio));}
OXI_DIVERGENCE(exponential){(void)d;ox_tensor*ratio=ox_div(q[0],p[0]);return oxi_plus(ox_sub(ratio,ox_log(ratio)),-1);}
OXI_DIVERGENCE(laplace){(void)d;ox_tensor*ratio=ox_div(p[1],q[1]),*apart=ox_abs(ox_sub(p[0],q[0]));
ox_tensor*bend=ox_mul(ratio,ox_exp(ox_neg(ox_div(apart,p[1]))));
return oxi_plus(ox_add(ox_sub(ox_div(apart,q[1]),ox_log(ratio)),bend),-1);}
OXI_DIVERGENCE(cauchy){(void)d;ox_tensor*all=ox_add(ox_square(ox_add(p[1],q[1])),ox_square(ox_sub(p[0],q[0])));
return ox_sub(ox_log(all),ox_log(oxi_times(ox_mul(p[1],q[1]),4)));}
OXI_DIVERGENCE(gumbel){(void)d;ox_tensor*ratio=ox_div(p[1],q[1]),*apart=ox_div(ox_sub(p[0],q[0]),q[1]);
ox_tensor*bend=ox_exp(ox_sub(ox_lgamma(oxi_plus(ratio,1)),apart));
ox_tensor*line=ox_add(ox_sub(apart,ox_log(ratio)),oxi_times(ratio,OXI_GUMBEL_MEAN));
return oxi_plus(ox_add(line,bend),-1 -OXI_GUMBEL_MEAN);}
static ox_tensor*oxi_outcome(ox_tensor*a,ox_tensor*other,ox_tensor*logs){ox_tensor*never=ox_eq_number(a,0);
ox_tensor*made=ox_mul(a,ox_where(never,ox_number(0),logs));
return ox_where(never,ox_number(0),ox_where(ox_eq_number(other,0),ox_number(INFINITY),made));}
OXI_DIVERGENCE(bernoulli){(void)d;ox_tensor*lp=oxi_binary_logits(p),*lq=oxi_binary_logits(q);
ox_tensor*pp=oxi_binary_probs(p),*pq=oxi_binary_probs(q);ox_tensor*yes=oxi_outcome(pp,pq,ox_sub(ox_logsigmoid(lp),ox_logsigmoid(lq)));
ox_tensor*no=ox_sub(ox_logsigmoid(ox_neg(lp)),ox_logsigmoid(ox_neg(lq)));
return ox_add(yes,oxi_outcome(ox_rsub_number(pp,1),ox_rsub_number(pq,1),no));}
OXI_DIVERGENCE(geometric){ox_tensor*pp=oxi_binary_probs(p),*pq=oxi_binary_probs(q);ox_tensor*rest=ox_div(ox_log1p(ox_neg(pq)),pp);
return ox_neg(ox_add(ox_add(oxi_entropy_geometric(d,p),rest),oxi_binary_logits(q)));}
OXI_DIVERGENCE(binomial){return oxi_times(oxi_divergence_bernoulli(d,p,q),(double)d->count);}
OXI_DIVERGENCE(categorical){(void)d;ox_tensor*logs=ox_sub(oxi_categorical_logits(p),oxi_categorical_logits(q));
return oxi_sum_last(oxi_outcome(oxi_class_probs(p),oxi_class_probs(q),logs));}
OXI_DIVERGENCE(poisson){(void)d;ox_tensor*ratio=ox_sub(ox_log(p[0]),ox_log(q[0]));return ox_sub(ox_mul(p[0],ratio),ox_sub(p[0],q[0]));}
OXI_DIVERGENCE(gamma){(void)d;ox_tensor*scale=ox_mul(q[0],ox_log(ox_div(p[1],q[1])));
ox_tensor*size=ox_sub(ox_lgamma(q[0]),ox_lgamma(p[0]));ox_tensor*curve=ox_mul(ox_sub(p[0],q[0]),ox_digamma(p[0]));
ox_tensor*mean=ox_mul(ox_sub(q[1],p[1]),ox_div(p[0],p[1]));return ox_add(ox_add(scale,size),ox_add(curve,mean));}
OXI_DIVERGENCE(beta){(void)d;ox_tensor*sum=ox_add(p[0],p[1]),*made=ox_sub(oxi_log_beta(q),oxi_log_beta(p));
for(int i=0;i<2;i++)made=ox_add(made,ox_mul(ox_sub(p[i],q[i]),ox_digamma(p[i])));
return ox_add(made,ox_mul(ox_sub(ox_add(q[0],q[1]),sum),ox_digamma(sum)));}
OXI_DIVERGENCE(dirichlet){(void)d;ox_tensor*sum=ox_sum(p[0],OX_DIMS(-1),true);
ox_tensor*size=ox_sub(ox_lgamma(oxi_sum_last(p[0])),ox_lgamma(oxi_sum_last(q[0])));
size=ox_sub(size,oxi_sum_last(ox_sub(ox_lgamma(p[0]),ox_lgamma(q[0]))));ox_tensor*curve=ox_sub(ox_digamma(p[0]),ox_digamma(sum));
return ox_add(size,oxi_sum_last(ox_mul(ox_sub(p[0],q[0]),curve)));}
OXI_DIVERGENCE(multivariate_normal){(void)d;double k=(double)p[0]->shape[p[0]->ndim-1];
ox_tensor*size=ox_sub(oxi_half_log_det(q[1]),oxi_half_log_det(p[1]));ox_tensor*spread=ox_solve_triangular(q[1],p[1],false,true,false);
spread=ox_sum(ox_square(spread),OX_DIMS(-2,-1),false);ox_tensor*apart=oxi_sum_last(ox_square(oxi_whitened(q[1],ox_sub(p[0],q[0]))));
return ox_add(size,oxi_times(oxi_plus(ox_add(spread,apart),-k),0.5));}
#define oxi_divergence_student_t NULL
#define oxi_divergence_multinomial NULL
/* >>nn/distributions/distributions.c */
typedef struct oxi_distribution_row{const char*name;int parameters,least,event;bool by_sample;
ox_tensor*(*draw)(const ox_distribution*d,ox_tensor*const*p,ox_shape shape);
ox_tensor*(*density)(const ox_distribution*d,ox_tensor*const*p,ox_tensor*x);
ox_tensor*(*entropy)(const ox_distribution*d,ox_tensor*const*p);ox_tensor*(*mean)(const ox_distribution*d,ox_tensor*const*p);
ox_tensor*(*variance)(const ox_distribution*d,ox_tensor*const*p);
ox_tensor*(*divergence)(const ox_distribution*d,ox_tensor*const*p,ox_tensor*const*q);}oxi_distribution_row;
static const oxi_distribution_row oxi_distribution_rows[]={{NULL,0,0,0,false,NULL,NULL,NULL,NULL,NULL,NULL},
#define OXI_DISTRIBUTION(KIND,name,parameters,least,event,by_sample)\
{#name,parameters,least,event,by_sample,oxi_draw_##name,oxi_density_##name,oxi_entropy_##name,oxi_mean_##name,oxi_variance_##name,\
oxi_divergence_##name},
/* >>nn/distributions/distributions.def */
OXI_DISTRIBUTION(NORMAL,normal,2,2,0,true)
OXI_DISTRIBUTION(LOG_NORMAL,log_normal,2,2,0,true)
OXI_DISTRIBUTION(UNIFORM,uniform,2,2,0,true)
OXI_DISTRIBUTION(EXPONENTIAL,exponential,1,1,0,true)
OXI_DISTRIBUTION(LAPLACE,laplace,2,2,0,true)
OXI_DISTRIBUTION(CAUCHY,cauchy,2,2,0,true)
OXI_DISTRIBUTION(GUMBEL,gumbel,2,2,0,true)
OXI_DISTRIBUTION(BERNOULLI,bernoulli,2,0,0,false)
OXI_DISTRIBUTION(GEOMETRIC,geometric,2,0,0,false)
OXI_DISTRIBUTION(BINOMIAL,binomial,2,0,0,false)
OXI_DISTRIBUTION(CATEGORICAL,categorical,2,0,0,false)
OXI_DISTRIBUTION(MULTINOMIAL,multinomial,2,0,1,false)
OXI_DISTRIBUTION(POISSON,poisson,1,1,0,false)
OXI_DISTRIBUTION(GAMMA,gamma,2,2,0,false)
OXI_DISTRIBUTION(BETA,beta,2,2,0,false)
OXI_DISTRIBUTION(DIRICHLET,dirichlet,1,1,1,false)
OXI_DISTRIBUTION(STUDENT_T,student_t,3,3,0,false)
OXI_DISTRIBUTION(MULTIVARIATE_NORMAL,multivariate_normal,2,2,1,true)
#undef OXI_DISTRIBUTION
};
static const oxi_distribution_row*oxi_distribution_of(const char*what,const ox_distribution*d){
if(!d||(int)d->kind<1||d->kind>=OX_DISTRIBUTION_KINDS){(void)oxi_fail(OX_ERR_ARG,"%s: no such distribution",what);
return NULL;}
const oxi_distribution_row*row=&oxi_distribution_rows[d->kind];int given=0;for(int i=0;i<3;i++){const ox_tensor*t=d->parameter[i];
given+=t!=NULL;bool fits=t?i<row->parameters&&oxi_is_float(t->dtype):i>=row->least;if(fits)continue;
(void)oxi_fail(OX_ERR_ARG,"%s: %s: parameter %d is %s",what,row->name,i,oxi_tensor_text(t));return NULL;}
bool classes=d->kind==OX_DISTRIBUTION_CATEGORICAL,matrix=d->kind==OX_DISTRIBUTION_MULTIVARIATE_NORMAL;bool fits=row->least>0||given==1;
for(int i=0;i<row->parameters;i++)
if(d->parameter[i])
fits=fits&&d->parameter[i]->ndim>=row->event+(classes||(matrix&&i==1));
if(fits&&d->count>=0)return row;
(void)oxi_fail(OX_ERR_ARG,"%s: %s: parameters %s, %s, count %lld",what,row->name,
oxi_tensor_text(d->parameter[0]),oxi_tensor_text(d->parameter[1]),(long long)d->count);
return NULL;}
static bool oxi_outcome_shape(const ox_distribution*d,ox_shape*shape){ox_tensor*list[3];int count=0;ox_shape each;for(int i=0;i<3;i++){
ox_tensor*t=d->parameter[i];if(!t)continue;
bool inner=d->kind==OX_DISTRIBUTION_CATEGORICAL||(d->kind==OX_DISTRIBUTION_MULTIVARIATE_NORMAL&&i==1);
list[count]=inner?ox_squeeze(ox_narrow(t,-1,0,1),-1):t;if(!list[count++])return false;}
if(!oxi_common_shape("sample",list,count,&each))return false;
if(shape->ndim+each.ndim>OX_MAX_DIMS){(void)oxi_fail(OX_ERR_SHAPE,"sample: %d dims more than %d",shape->ndim,each.ndim);
return false;}
for(int i=0;i<each.ndim;i++)shape->dim[shape->ndim++]=each.dim[i];
return true;}
static ox_tensor*oxi_distribution_draw(const char*name,const ox_distribution*d,ox_shape shape,bool follows){
const oxi_distribution_row*row=oxi_distribution_of(name,d);ox_tensor*p[3];if(!row)return NULL;
if(follows&&!row->by_sample)
return OXI_FAIL_NULL(OX_ERR_UNSUPPORTED,"%s: a sample of %s has no gradient",name,row->name);
oxi_work work=oxi_work_begin(name);for(int i=0;i<3;i++){p[i]=d->parameter[i]&&!follows?ox_detach(d->parameter[i]):d->parameter[i];
if(d->parameter[i]&&!p[i])return oxi_work_end(&work,NULL);}
if(!oxi_outcome_shape(d,&shape))return oxi_work_end(&work,NULL);
ox_tensor*made=row->draw(d,p,shape);ox_dtype dtype=d->kind==OX_DISTRIBUTION_CATEGORICAL?OX_I64:(p[0]?p[0]:p[1])->dtype;
return oxi_work_end(&work,made?ox_cast(made,dtype):NULL);}
OX_API ox_tensor*ox_distribution_sample(const ox_distribution*d,ox_shape shape){return oxi_distribution_draw("sample",d,shape,false);}
OX_API ox_tensor*ox_distribution_rsample(const ox_distribution*d,ox_shape shape){return oxi_distribution_draw("rsample",d,shape,true);}
OX_API ox_tensor*ox_distribution_log_prob(const ox_distribution*d,ox_tensor*value){if(oxi_any_null("log_prob",&value,1))return NULL;
const oxi_distribution_row*row=oxi_distribution_of("log_prob",d);if(!row)return NULL;
oxi_work work=oxi_work_begin("log_prob");return oxi_work_end(&work,row->density(d,d->parameter,value));}
#define OXI_X(name)\
OX_API ox_tensor*ox_distribution_##name(const ox_distribution*d){\
const oxi_distribution_row*row=oxi_distribution_of(#name,d);\
if(!row)return NULL;\
oxi_work work=oxi_work_begin(#name);\
return oxi_work_end(&work,row->name(d,d->parameter));}
OXI_X(entropy)
OXI_X(mean)OXI_X(variance)
#undef OXI_X
OX_API ox_tensor*ox_distribution_kl(const ox_distribution*p,const ox_distribution*q){
const oxi_distribution_row*row=oxi_distribution_of("kl",p);if(!row||!oxi_distribution_of("kl",q))return NULL;
if(p->kind!=q->kind||!row->divergence||p->count!=q->count)
return OXI_FAIL_NULL(OX_ERR_UNSUPPORTED,"kl: of %s from %s",row->name,oxi_distribution_rows[q->kind].name);
oxi_work work=oxi_work_begin("kl");return oxi_work_end(&work,row->divergence(p,p->parameter,q->parameter));}
/* >>nn/distributions/samples.c */
#define OXI_SQRT_2_F64 1.4142135623730951
static double oxi_normal_below(double x){return 0.5*erfc(-x/OXI_SQRT_2_F64);}
OX_API ox_tensor*ox_trunc_normal_(ox_tensor*x,double mean,double deviation,double low,double high){
if(oxi_any_null("trunc_normal_",&x,1))return NULL;
if(!(deviation>0&&low<high)||!(mean-mean==0))
return OXI_FAIL_NULL(OX_ERR_ARG,"trunc_normal_: mean %g, deviation %g, from %g to %g",mean,deviation,low,high);
oxi_work work=oxi_work_begin("trunc_normal_");bool enabled=ox_set_grad_enabled(false);ox_dtype dtype=x->dtype==OX_F64?OX_F64:OX_F32;
double from=2*oxi_normal_below((low-mean)/deviation)-1;
double to=2*oxi_normal_below((high-mean)/deviation)-1;
ox_tensor*u=oxi_full("draw",ox_shape_of(x),0,dtype,oxi_working_device(ox_device_of(x)));
u=ox_add_number(ox_mul_number(ox_uniform_(u,0,1),to-from),from);
u=ox_add_number(ox_mul_number(ox_erfinv(u),deviation*OXI_SQRT_2_F64),mean);bool done=u&&ox_copy_(x,ox_clamp(u,low,high));
(void)ox_set_grad_enabled(enabled);(void)oxi_work_end(&work,NULL);return done?x:NULL;}
OX_API ox_tensor*ox_gumbel_softmax(ox_tensor*logits,double tau,bool hard,int dim){
if(oxi_any_null("gumbel_softmax",&logits,1))return NULL;
int at=oxi_wrap_dim("gumbel_softmax",dim,logits->ndim);if(at<0)return NULL;
if(!oxi_is_float(logits->dtype))
return OXI_FAIL_NULL(OX_ERR_DTYPE,"gumbel_softmax: not defined for %s",oxi_tensor_text(logits));
if(!(tau>0))return OXI_FAIL_NULL(OX_ERR_ARG,"gumbel_softmax: tau %g is not above 0",tau);
oxi_work work=oxi_work_begin("gumbel_softmax");ox_tensor*p[2]={logits,NULL},*drawn=oxi_exponentials(p,ox_shape_of(logits));
drawn=ox_neg(ox_log(ox_clamp(drawn,1e-37,INFINITY)));ox_tensor*moved=ox_div_number(ox_add(oxi_wide(logits),drawn),tau);
ox_tensor*soft=moved?ox_cast(ox_softmax(moved,at),logits->dtype):NULL;if(!hard||!soft||ox_numel(soft)==0)return oxi_work_end(&work,soft);
ox_tensor*fixed=ox_detach(soft),*most=ox_argmax(fixed,at,true);
ox_tensor*one=ox_scatter(ox_zeros_like(fixed),at,most,ox_ones_like(fixed));return oxi_work_end(&work,ox_add(ox_sub(one,fixed),soft));}
OX_API ox_tensor*ox_poisson(ox_tensor*x){ox_distribution d;if(oxi_any_null("poisson",&x,1))return NULL;
if(!oxi_is_float(x->dtype))
return OXI_FAIL_NULL(OX_ERR_DTYPE,"poisson: not defined for %s",oxi_tensor_text(x));
oxi_work work=oxi_work_begin("poisson");memset(&d,0,sizeof d);d.kind=OX_DISTRIBUTION_POISSON;d.parameter[0]=oxi_wide(x);
ox_tensor*counts=d.parameter[0]?ox_distribution_sample(&d,OX_SCALAR_SHAPE):NULL;
return oxi_work_end(&work,counts?ox_cast(counts,x->dtype):NULL);}
/* >>nn/algebra/algebra.c */
static ox_tensor*oxi_from_spectrum(ox_tensor*v,ox_tensor*s){
return v&&s?ox_matmul(ox_mul(v,ox_unsqueeze(s,-2)),ox_transpose(v,-1,-2)):NULL;}
OX_API ox_tuple ox_linalg_polar(ox_tensor*x){if(oxi_any_null("linalg_polar",&x,1))return oxi_no_tuple();
if(x->ndim<2||x->shape[x->ndim-2]<x->shape[x->ndim-1]){
(void)oxi_fail(OX_ERR_SHAPE,"linalg_polar: %s has more columns than rows",oxi_tensor_text(x));return oxi_no_tuple();}
oxi_work work=oxi_work_begin("linalg_polar");ox_tuple parts=ox_svd(x,false);if(!parts.t[0])return oxi_tuple_end(&work,NULL,NULL,NULL);
ox_tensor*v=ox_transpose(parts.t[2],-1,-2);
return oxi_tuple_end(&work,ox_matmul(parts.t[0],parts.t[2]),oxi_from_spectrum(v,parts.t[1]),NULL);}
OX_API ox_tensor*ox_matrix_sqrth(ox_tensor*x){if(oxi_any_null("matrix_sqrth",&x,1))return NULL;
oxi_work work=oxi_work_begin("matrix_sqrth");ox_tuple parts=ox_eigh(x,false);
return oxi_work_end(&work,parts.t[0]?oxi_from_spectrum(parts.t[1],ox_sqrt(parts.t[0])):NULL);}
static ox_tensor*oxi_column_range(ox_tensor*x,int64_t q,int64_t rounds){ox_tensor*back=ox_transpose(x,-1,-2),*probe;if(!back)return NULL;
ox_shape shape=ox_shape_of(back);shape.dim[shape.ndim-1]=q;
probe=oxi_full("svd_lowrank",shape,0,x->dtype,oxi_working_device(ox_device_of(x)));
ox_tensor*basis=ox_qr(ox_matmul(x,ox_normal_(probe,0,1)),NULL).t[0];for(int64_t i=0;i<rounds&&basis;i++){
ox_tensor*other=ox_qr(ox_matmul(back,basis),NULL).t[0];basis=ox_qr(ox_matmul(x,other),NULL).t[0];}
return basis;}
static ox_tuple oxi_lowrank(oxi_work*work,const char*name,ox_tensor*x,int64_t q,int64_t rounds){
int64_t m=x->shape[x->ndim-2],n=x->shape[x->ndim-1];if(q<1||q>(m<n?m:n)||rounds<0){
(void)oxi_fail(OX_ERR_ARG,"%s: rank %lld, %lld rounds of %s",name,(long long)q,(long long)rounds,oxi_tensor_text(x));
return oxi_tuple_end(work,NULL,NULL,NULL);}
ox_tensor*basis=oxi_column_range(x,q,rounds);ox_tuple parts=basis?ox_svd(ox_matmul(ox_transpose(basis,-1,-2),x),false):oxi_no_tuple();
if(!parts.t[0])return oxi_tuple_end(work,NULL,NULL,NULL);
ox_tensor*v=ox_transpose(parts.t[2],-1,-2);return oxi_tuple_end(work,ox_matmul(basis,parts.t[0]),parts.t[1],v);}
OX_API ox_tuple ox_svd_lowrank(ox_tensor*x,int64_t q,int64_t rounds,ox_tensor*shift){
if(oxi_any_null("svd_lowrank",&x,1))return oxi_no_tuple();
oxi_work work=oxi_work_begin("svd_lowrank");ox_tensor*from=shift?ox_sub(x,shift):x;
if(from&&from->ndim>=2)return oxi_lowrank(&work,"svd_lowrank",from,q,rounds);
if(from)(void)oxi_fail(OX_ERR_SHAPE,"svd_lowrank: %s is no matrix",oxi_tensor_text(from));
return oxi_tuple_end(&work,NULL,NULL,NULL);}
OX_API ox_tuple ox_pca_lowrank(ox_tensor*x,int64_t q,bool center,int64_t rounds){
if(oxi_any_null("pca_lowrank",&x,1))return oxi_no_tuple();
oxi_work work=oxi_work_begin("pca_lowrank");if(x->ndim<2){(void)oxi_fail(OX_ERR_SHAPE,"pca_lowrank: %s is no matrix",oxi_tensor_text(x));
return oxi_tuple_end(&work,NULL,NULL,NULL);}
int64_t m=x->shape[x->ndim-2],n=x->shape[x->ndim-1],least=m<n?m:n;ox_tensor*from=center?ox_sub(x,ox_mean(x,OX_DIMS(-2),true)):x;
if(!from)return oxi_tuple_end(&work,NULL,NULL,NULL);
return oxi_lowrank(&work,"pca_lowrank",from,q?q:least<6?least:6,rounds);}
/* >>nn/algebra/einsum.c */
#define OXI_MAX_LABELS 64
typedef struct oxi_einsum_term{ox_tensor*t;
const ox_tensor*given;int operand;int count;int label[OX_MAX_DIMS];}oxi_einsum_term;typedef struct oxi_einsum{const char*equation;
int64_t size[OXI_MAX_LABELS];int seen[OXI_MAX_LABELS];int ellipsis;int out_count;int out[OX_MAX_DIMS];}oxi_einsum;
static int oxi_letter_label(char c){return c>='a'&&c<='z'?c-'a':c>='A'&&c<='Z'?26 +c-'A':-1;}
#define OXI_EINSUM_SHOWN "einsum: '%.120s': "
static const char*oxi_label_text(int label){char*out=oxi_text_buffer();
if(label>=52)
snprintf(out,OXI_TEXT_ROOM,"dim %d of \"...\"",51 -label);
else
snprintf(out,OXI_TEXT_ROOM,"letter '%c'",label<26?'a'+label:'A'+label-26);
return out;}
static const char*oxi_term_text(int operand,const ox_tensor*t){char*out=oxi_text_buffer();if(operand==0)
snprintf(out,OXI_TEXT_ROOM,"the result");
else
snprintf(out,OXI_TEXT_ROOM,"operand %d (%s)",operand,oxi_tensor_text(t));
return out;}
static bool oxi_einsum_too_long(const oxi_einsum*e,int operand,const ox_tensor*t){
(void)oxi_fail(OX_ERR_ARG,OXI_EINSUM_SHOWN "%s: at most %d dims",e->equation,oxi_term_text(operand,t),OX_MAX_DIMS);return false;}
static bool oxi_einsum_labels(const oxi_einsum*e,int operand,const ox_tensor*t,const char*text,
const char*end,int ellipsis_dims,int*label,int*count){bool dots=false;
*count=0;for(const char*p=text;p<end;p++){if(*p==' ')continue;
if(*p=='.'){if(dots||end-p<3||p[1]!='.'||p[2]!='.'){(void)oxi_fail(OX_ERR_ARG,OXI_EINSUM_SHOWN "%s: dots are \"...\", once",e->equation,
oxi_term_text(operand,t));
return false;}
dots=true;
p+=2;for(int i=0;i<ellipsis_dims;i++){if(*count==OX_MAX_DIMS)return oxi_einsum_too_long(e,operand,t);
label[(*count)++]=52 +(ellipsis_dims-1 -i);}
continue;}
if(oxi_letter_label(*p)<0){(void)oxi_fail(OX_ERR_ARG,OXI_EINSUM_SHOWN "%s: byte %d, '%c', is no letter",e->equation,
oxi_term_text(operand,t),(int)(p-e->equation)+1,*p>' '&&*p<='~'?*p:'?');
return false;}
if(*count==OX_MAX_DIMS)return oxi_einsum_too_long(e,operand,t);
label[(*count)++]=oxi_letter_label(*p);}
return true;}
static int oxi_count_letters(const char*text,const char*end,bool*dots){int letters=0;
*dots=false;
for(const char*p=text;p<end;p++){if(*p=='.')*dots=true;
letters+=oxi_letter_label(*p)>=0;}
return letters;}
static bool oxi_einsum_diagonals(const oxi_einsum*e,oxi_einsum_term*term){for(int i=0;i<term->count;i++){
for(int j=i+1;j<term->count;j++){if(term->label[i]!=term->label[j])continue;
if(term->t->shape[i]!=term->t->shape[j]){(void)oxi_fail(OX_ERR_SHAPE,OXI_EINSUM_SHOWN "%s has sizes %lld and %lld in %s",e->equation,
oxi_label_text(term->label[i]),(long long)term->t->shape[i],(long long)term->t->shape[j],oxi_term_text(term->operand,term->given));
return false;}
int label=term->label[i];term->t=ox_diagonal(term->t,0,i,j);if(!term->t)return false;
int kept=0;for(int d=0;d<term->count;d++)
if(d!=i&&d!=j)term->label[kept++]=term->label[d];
term->label[kept++]=label;term->count=kept;i=-1;break;}}
return true;}
static bool oxi_einsum_sizes(oxi_einsum*e,const oxi_einsum_term*term){for(int d=0;d<term->count;d++){int label=term->label[d];
int64_t size=term->t->shape[d];if(!e->seen[label]||e->size[label]==1){e->size[label]=size;
e->seen[label]=term->operand;}else if(size!=e->size[label]&&size!=1){
(void)oxi_fail(OX_ERR_SHAPE,OXI_EINSUM_SHOWN "%s has size %lld in operand %d, but %lld in %s",
e->equation,oxi_label_text(label),(long long)e->size[label],e->seen[label],(long long)size,oxi_term_text(term->operand,term->given));
return false;}}
return true;}
static bool oxi_has_label(const int*label,int count,int wanted){for(int i=0;i<count;i++)
if(label[i]==wanted)return true;
return false;}
static bool oxi_einsum_sum_lonely(const oxi_einsum*e,oxi_einsum_term*term,const oxi_einsum_term*rest,int rest_count){
ox_shape dims=ox_shape_from(0,NULL);int kept=0,label[OX_MAX_DIMS];for(int d=0;d<term->count;d++){
bool needed=oxi_has_label(e->out,e->out_count,term->label[d]);for(int r=0;r<rest_count&&!needed;r++)
needed=oxi_has_label(rest[r].label,rest[r].count,term->label[d]);
if(needed)
label[kept++]=term->label[d];
else
dims.dim[dims.ndim++]=d;}
if(dims.ndim==0)return true;
term->t=ox_sum(term->t,dims,false);memcpy(term->label,label,sizeof label);term->count=kept;return term->t!=NULL;}
static ox_tensor*oxi_einsum_ordered(const oxi_einsum_term*term,const int*list,int count){ox_shape order=ox_shape_from(0,NULL);
for(int i=0;i<count;i++)
for(int d=0;d<term->count;d++)
if(term->label[d]==list[i])order.dim[order.ndim++]=d;
return ox_permute(term->t,order);}
typedef struct oxi_einsum_roles{int batch[OX_MAX_DIMS],rows[OX_MAX_DIMS],columns[OX_MAX_DIMS],summed[OX_MAX_DIMS];
int batches,row_count,column_count,summed_count;}oxi_einsum_roles;
static void oxi_einsum_sort_roles(const oxi_einsum*e,const oxi_einsum_term*a,const oxi_einsum_term*b,
const oxi_einsum_term*rest,int rest_count,oxi_einsum_roles*roles){memset(roles,0,sizeof*roles);
for(int d=0;d<a->count;d++){int label=a->label[d];
bool needed=oxi_has_label(e->out,e->out_count,label);for(int r=0;r<rest_count&&!needed;r++)
needed=oxi_has_label(rest[r].label,rest[r].count,label);
if(!oxi_has_label(b->label,b->count,label))
roles->rows[roles->row_count++]=label;
else if(needed)
roles->batch[roles->batches++]=label;
else
roles->summed[roles->summed_count++]=label;}
for(int d=0;d<b->count;d++)
if(!oxi_has_label(a->label,a->count,b->label[d]))
roles->columns[roles->column_count++]=b->label[d];}
static int64_t oxi_einsum_join(const oxi_einsum*e,int*list,int*count,const int*more,int more_count){int64_t size=1;
for(int i=0;i<more_count;i++){if(*count<OX_MAX_DIMS)list[(*count)++]=more[i];
size*=e->size[more[i]];}
return size;}
static ox_tensor*oxi_einsum_product(ox_tensor*x,ox_tensor*y,bool sums){if(!x||!y)return NULL;
if(x->dtype!=y->dtype&&oxi_is_int(x->dtype)&&oxi_is_int(y->dtype)){x=ox_cast(x,OX_I64);
y=ox_cast(y,OX_I64);}
ox_tensor*product=sums?ox_matmul(x,y):ox_mul(x,y);return product&&x&&product->dtype!=x->dtype?ox_cast(product,x->dtype):product;}
static bool oxi_einsum_contract(const oxi_einsum*e,oxi_einsum_term*a,const oxi_einsum_term*b,const oxi_einsum_term*rest,int rest_count){
oxi_einsum_roles r;oxi_einsum_sort_roles(e,a,b,rest,rest_count,&r);if(r.batches+r.row_count+r.column_count>OX_MAX_DIMS){
(void)oxi_fail(OX_ERR_SHAPE,OXI_EINSUM_SHOWN "operands up to %d, multiplied, have %d dims; %d are the most",
e->equation,b->operand,r.batches+r.row_count+r.column_count,OX_MAX_DIMS);
return false;}
int left[OX_MAX_DIMS],right[OX_MAX_DIMS],result[OX_MAX_DIMS],left_count=0,right_count=0,result_count=0;
int64_t batch=oxi_einsum_join(e,left,&left_count,r.batch,r.batches);int64_t rows=oxi_einsum_join(e,left,&left_count,r.rows,r.row_count);
int64_t summed=oxi_einsum_join(e,left,&left_count,r.summed,r.summed_count);oxi_einsum_join(e,right,&right_count,r.batch,r.batches);
oxi_einsum_join(e,right,&right_count,r.summed,r.summed_count);
int64_t columns=oxi_einsum_join(e,right,&right_count,r.columns,r.column_count);
ox_tensor*x=ox_reshape(oxi_einsum_ordered(a,left,left_count),OX_SHAPE(batch,rows,summed));
ox_tensor*y=ox_reshape(oxi_einsum_ordered(b,right,right_count),OX_SHAPE(batch,summed,columns));
ox_tensor*product=oxi_einsum_product(x,y,r.summed_count>0);oxi_einsum_join(e,result,&result_count,r.batch,r.batches);
oxi_einsum_join(e,result,&result_count,r.rows,r.row_count);oxi_einsum_join(e,result,&result_count,r.columns,r.column_count);
ox_shape shape=ox_shape_from(0,NULL);for(int i=0;i<result_count;i++)shape.dim[shape.ndim++]=e->size[result[i]];
a->t=product?ox_view(product,shape):NULL;memcpy(a->label,result,sizeof result);a->count=result_count;return a->t!=NULL;}
static const char*oxi_einsum_term_end(const char*p){while(*p&&*p!=','&&!(p[0]=='-'&&p[1]=='>'))p++;
return p;}
static int oxi_einsum_terms(const char*text){int terms=1;while(*(text=oxi_einsum_term_end(text))==','){terms++;
text++;}
return terms;}
static const char*oxi_einsum_read(oxi_einsum*e,const char*text,ox_tensor*const*list,int count,oxi_einsum_term*terms){
for(int i=0;i<count;i++){const char*end=oxi_einsum_term_end(text);
bool dots;
int letters=oxi_count_letters(text,end,&dots),extra=list[i]->ndim-letters;
terms[i].t=list[i];terms[i].given=list[i];terms[i].operand=i+1;
if(!oxi_einsum_labels(e,i+1,list[i],text,end,extra,terms[i].label,&terms[i].count))
return NULL;
if(extra<0||(!dots&&extra>0))
return(const char*)OXI_FAIL_NULL(OX_ERR_ARG,OXI_EINSUM_SHOWN "%s has %d dims for %d letters",
e->equation,oxi_term_text(i+1,list[i]),list[i]->ndim,letters);
if(extra>e->ellipsis)e->ellipsis=extra;
text=*end==','?end+1:end;}
return text;}
static bool oxi_einsum_result(oxi_einsum*e,const char*text,const char*left_start,const char*left_end){if(text[0]=='-')
return oxi_einsum_labels(e,0,NULL,text+2,text+strlen(text),e->ellipsis,e->out,&e->out_count);
int times[52]={0};for(const char*p=left_start;p<left_end;p++)
if(oxi_letter_label(*p)>=0)times[oxi_letter_label(*p)]++;
for(int i=e->ellipsis-1;i>=0;i--)e->out[e->out_count++]=52 +i;
for(int turn=0;turn<52;turn++){int label=turn<26?26 +turn:turn-26;
if(times[label]!=1)continue;
if(e->out_count==OX_MAX_DIMS)return oxi_einsum_too_long(e,0,NULL);
e->out[e->out_count++]=label;}
return true;}
static bool oxi_einsum_check_result(const oxi_einsum*e){for(int i=0;i<e->out_count;i++){bool known=e->seen[e->out[i]]||e->out[i]>=52;
if(known&&!oxi_has_label(e->out,i,e->out[i]))continue;
(void)oxi_fail(OX_ERR_ARG,OXI_EINSUM_SHOWN "the result has %s, which %s",e->equation,
oxi_label_text(e->out[i]),known?"it has before":"no operand has");
return false;}
return true;}
static bool oxi_einsum_grow(const oxi_einsum*e,oxi_einsum_term*term){ox_shape shape=ox_shape_from(0,NULL);
for(int d=0;d<term->count;d++)shape.dim[shape.ndim++]=e->size[term->label[d]];
term->t=ox_expand(term->t,shape);return term->t!=NULL;}
static ox_tensor*oxi_einsum_run(const char*equation,ox_tensor*const*list,int count,oxi_einsum_term*terms){oxi_einsum e;
memset(&e,0,sizeof e);e.equation=equation;if(oxi_einsum_terms(equation)!=count)
return OXI_FAIL_NULL(OX_ERR_ARG,OXI_EINSUM_SHOWN "it has %d operands, %d are given",equation,oxi_einsum_terms(equation),count);
const char*after=oxi_einsum_read(&e,equation,list,count,terms);if(!after||!oxi_einsum_result(&e,after,equation,after))return NULL;
for(int i=0;i<count;i++)
if(!oxi_einsum_diagonals(&e,&terms[i])||!oxi_einsum_sizes(&e,&terms[i]))return NULL;
if(!oxi_einsum_check_result(&e))return NULL;
for(int i=0;i<count;i++)
if(!oxi_einsum_grow(&e,&terms[i]))return NULL;
oxi_einsum_term*sum=&terms[0];if(!oxi_einsum_sum_lonely(&e,sum,terms+1,count-1))return NULL;
for(int i=1;i<count;i++){oxi_einsum_term*rest=terms+i+1;
if(!oxi_einsum_contract(&e,sum,&terms[i],rest,count-i-1))return NULL;
if(!oxi_einsum_sum_lonely(&e,sum,rest,count-i-1))return NULL;}
ox_tensor*result=oxi_einsum_ordered(sum,e.out,e.out_count);return result&&result->storage==list[0]->storage?ox_clone(result):result;}
OX_API ox_tensor*ox_einsum(const char*equation,ox_tensor*const*list,int count){
if(!equation)return OXI_FAIL_NULL(OX_ERR_ARG,"einsum: no equation");
if(count<1||!list)return OXI_FAIL_NULL(OX_ERR_ARG,"einsum: no operands");
if(oxi_any_null("einsum",list,count))return NULL;
size_t bytes;if(!oxi_mul_size((size_t)count,sizeof(oxi_einsum_term),&bytes))
return OXI_FAIL_NULL(OX_ERR_ARG,"einsum: %d operands are more than memory can hold",count);
oxi_einsum_term*terms=(oxi_einsum_term*)oxi_alloc(bytes);if(!terms)return NULL;
oxi_work work=oxi_work_begin("einsum");ox_tensor*result=oxi_work_end(&work,oxi_einsum_run(equation,list,count,terms));
oxi_free(terms,bytes);return result;}
/* >>nn/algebra/ldl.c */
enum{OXI_LDL_F64=(int)sizeof(double)};
static void oxi_ldl_swap(double*m,int64_t n,int64_t first,int64_t a,int64_t b){
#define OXI_AT(i,j)m[(i)*n +(j)]
#define OXI_SWAP(x,y)\
do{\
double old=x;\
x=y;\
y=old;}while(0)
for(int64_t i=b+1;i<n;i++)OXI_SWAP(OXI_AT(i,a),OXI_AT(i,b));
for(int64_t i=a+1;i<b;i++)OXI_SWAP(OXI_AT(i,a),OXI_AT(b,i));
OXI_SWAP(OXI_AT(a,a),OXI_AT(b,b));if(first<a)OXI_SWAP(OXI_AT(a,first),OXI_AT(b,first));}
static int64_t oxi_ldl_pivot(const double*m,int64_t n,int64_t k,int64_t*step,bool*zero){const double alpha=0.6403882032022076;
double own=fabs(OXI_AT(k,k)),most=0,beside=0;
int64_t at=k;*step=1;for(int64_t i=k+1;i<n;i++)
if(fabs(OXI_AT(i,k))>most){most=fabs(OXI_AT(i,k));
at=i;}
*zero=isnan(own)||(own==0&&most==0);if(*zero||own>=alpha*most)return k;
for(int64_t j=k;j<at;j++)beside=fmax(beside,fabs(OXI_AT(at,j)));
for(int64_t i=at+1;i<n;i++)beside=fmax(beside,fabs(OXI_AT(i,at)));
if(own>=alpha*most*(most/beside))return k;
if(fabs(OXI_AT(at,at))<alpha*beside)*step=2;
return at;}
static void oxi_ldl_take_1(double*m,int64_t n,int64_t k){double inverse=1/OXI_AT(k,k);
for(int64_t i=n-1;i>k;i--){double factor=OXI_AT(i,k)*inverse;
for(int64_t j=k+1;j<=i;j++)OXI_AT(i,j)-=factor*OXI_AT(j,k);}
for(int64_t i=k+1;i<n;i++)OXI_AT(i,k)*=inverse;}
static void oxi_ldl_take_2(double*m,int64_t n,int64_t k){double off=OXI_AT(k+1,k),a=OXI_AT(k+1,k+1)/off,b=OXI_AT(k,k)/off;
double scale=1/(a*b-1)/off;
for(int64_t j=k+2;j<n;j++){double first=scale*(a*OXI_AT(j,k)-OXI_AT(j,k+1));
double second=scale*(b*OXI_AT(j,k+1)-OXI_AT(j,k));
for(int64_t i=j;i<n;i++)OXI_AT(i,j)-=OXI_AT(i,k)*first+OXI_AT(i,k+1)*second;
OXI_AT(j,k)=first;OXI_AT(j,k+1)=second;}}
static int64_t oxi_ldl_factor_one(double*m,int64_t n,int64_t*pivots){int64_t info=0,step;
for(int64_t k=0;k<n;k+=step){bool zero;
int64_t from=oxi_ldl_pivot(m,n,k,&step,&zero),last=k+step-1;if(zero&&info==0)info=k+1;
if(from!=last)oxi_ldl_swap(m,n,k,last,from);
if(!zero&&step==1)oxi_ldl_take_1(m,n,k);
if(step==2)oxi_ldl_take_2(m,n,k);
for(int64_t i=k;i<=last;i++)pivots[i]=step==1?from+1:-(from+1);}
for(int64_t i=0;i<n;i++)
for(int64_t j=i+1;j<n;j++)OXI_AT(i,j)=0;
return info;}
static void*oxi_host_numbers(ox_tensor*t,bool whole,size_t*bytes){int64_t count=ox_numel(t);
if(!oxi_mul_size((size_t)count+1,OXI_LDL_F64,bytes))return NULL;
void*numbers=oxi_alloc(*bytes);if(!numbers)return NULL;
ox_tensor*plain=ox_detach(t);ox_status status=
whole?ox_to_ints(plain,(int64_t*)numbers,count):ox_to_doubles(plain,(double*)numbers,count);
if(status==OX_OK)return numbers;
oxi_free(numbers,*bytes);return NULL;}
static ox_tensor*oxi_numbers_beside(const ox_tensor*t,const void*numbers,ox_shape shape,ox_dtype from,ox_dtype dtype){
ox_tensor*made=oxi_copied(numbers,shape,from);return made?ox_to(ox_cast(made,dtype),oxi_working_device(ox_device_of(t))):NULL;}
static bool oxi_ldl_is_matrix(const char*name,const ox_tensor*x){bool square=x->ndim>=2&&x->shape[x->ndim-1]==x->shape[x->ndim-2];
if(x->dtype!=OX_F32&&x->dtype!=OX_F64)
(void)oxi_fail(OX_ERR_DTYPE,"%s: not defined for %s",name,oxi_tensor_text(x));
else if(!square)
(void)oxi_fail(OX_ERR_SHAPE,"%s: %s is not square",name,oxi_tensor_text(x));
return square&&(x->dtype==OX_F32||x->dtype==OX_F64);}
static ox_tuple oxi_ldl_factored(oxi_work*work,ox_tensor*x,bool check){int64_t n=x->shape[x->ndim-1],batch=oxi_outer_count(x,2),failed=0;
size_t bytes,order_bytes=((size_t)(batch*n)+1)*OXI_LDL_F64,info_bytes=((size_t)batch+1)*OXI_LDL_F64;
double*m=(double*)oxi_host_numbers(x,false,&bytes);
int64_t*pivots=m?(int64_t*)oxi_alloc(order_bytes):NULL;int64_t*info=pivots?(int64_t*)oxi_alloc(info_bytes):NULL;
ox_tensor*made[3]={NULL,NULL,NULL};if(info){ox_shape shape=ox_shape_of(x);
for(int64_t b=0;b<batch;b++){info[b]=oxi_ldl_factor_one(m+b*n*n,n,pivots+b*n);
failed=failed?failed:info[b];}
made[0]=oxi_numbers_beside(x,m,shape,OX_F64,x->dtype);shape.ndim--;made[1]=oxi_numbers_beside(x,pivots,shape,OX_I64,OX_I32);shape.ndim--;
made[2]=oxi_numbers_beside(x,info,shape,OX_I64,OX_I32);oxi_free(info,info_bytes);}
if(pivots)oxi_free(pivots,order_bytes);
if(m)oxi_free(m,bytes);
if(check&&failed){(void)oxi_fail(OX_ERR_ARG,"ldl_factor: row %lld of D is 0",(long long)failed);
made[0]=NULL;}
return oxi_tuple_end(work,made[2]?made[0]:NULL,made[1],check?NULL:made[2]);}
static ox_tuple oxi_ldl_factor(const char*name,ox_tensor*x,bool check){
if(oxi_any_null(name,&x,1)||!oxi_ldl_is_matrix(name,x))return oxi_no_tuple();
oxi_work work=oxi_work_begin(name);return oxi_ldl_factored(&work,x,check);}
OX_API ox_tuple ox_ldl_factor(ox_tensor*x){return oxi_ldl_factor("ldl_factor",x,true);}
OX_API ox_tuple ox_ldl_factor_ex(ox_tensor*x){return oxi_ldl_factor("ldl_factor_ex",x,false);}
static void oxi_ldl_less(double*b,int64_t k,int64_t to,double factor,int64_t from){for(int64_t c=0;c<k;c++)b[to*k+c]-=factor*b[from*k+c];
}
static void oxi_ldl_swap_rows(double*b,int64_t k,int64_t x,int64_t y){for(int64_t c=0;c<k&&x!=y;c++)OXI_SWAP(b[x*k+c],b[y*k+c]);}
static void oxi_ldl_divide_2(const double*m,int64_t n,int64_t i,double*b,int64_t k){
double off=OXI_AT(i+1,i),x=OXI_AT(i,i)/off,y=OXI_AT(i+1,i+1)/off,all=x*y-1;
for(int64_t c=0;c<k;c++){double first=b[i*k+c]/off,second=b[(i+1)*k+c]/off;
b[i*k+c]=(y*first-second)/all;b[(i+1)*k+c]=(x*second-first)/all;}}
static void oxi_ldl_solve_one(const double*m,int64_t n,const int64_t*pivots,double*b,int64_t k){for(int64_t i=0;i<n;){
int64_t step=pivots[i]>0?1:2;oxi_ldl_swap_rows(b,k,i+step-1,(pivots[i]>0?pivots[i]:-pivots[i])-1);for(int64_t r=i+step;r<n;r++)
for(int64_t s=0;s<step;s++)oxi_ldl_less(b,k,r,OXI_AT(r,i+s),i+s);
if(step==2)oxi_ldl_divide_2(m,n,i,b,k);
for(int64_t c=0;step==1&&c<k;c++)b[i*k+c]/=OXI_AT(i,i);
i+=step;}
for(int64_t i=n-1;i>=0;){int64_t step=pivots[i]>0?1:2;
for(int64_t r=i+1;r<n;r++)
for(int64_t s=0;s<step;s++)oxi_ldl_less(b,k,i-s,OXI_AT(r,i-s),r);
oxi_ldl_swap_rows(b,k,i,(pivots[i]>0?pivots[i]:-pivots[i])-1);i-=step;}
#undef OXI_SWAP
#undef OXI_AT
}
static bool oxi_ldl_pivots_fit(const int64_t*pivots,int64_t n){for(int64_t i=0;i<n;i++){
if(pivots[i]==0||pivots[i]>n||pivots[i]<-n)return false;
if(pivots[i]>0)continue;
if(i+1>=n||pivots[i+1]!=pivots[i])return false;
i++;}
return true;}
static ox_tensor*oxi_ldl_solved(ox_tensor*ld,ox_tensor*pivots,ox_tensor*b){
int64_t n=b->shape[b->ndim-2],k=b->shape[b->ndim-1],batch=oxi_outer_count(b,2);size_t m_bytes,p_bytes,b_bytes;
double*m=(double*)oxi_host_numbers(ld,false,&m_bytes);
int64_t*p=m?(int64_t*)oxi_host_numbers(pivots,true,&p_bytes):NULL;double*x=p?(double*)oxi_host_numbers(b,false,&b_bytes):NULL;
ox_tensor*made=NULL;bool fits=x!=NULL;for(int64_t i=0;i<batch&&fits;i++){fits=oxi_ldl_pivots_fit(p+i*n,n);
if(fits)oxi_ldl_solve_one(m+i*n*n,n,p+i*n,x+i*n*k,k);}
if(x&&!fits)(void)oxi_fail(OX_ERR_INDEX,"ldl_solve: pivots that ox_ldl_factor does not give");
if(fits)made=oxi_numbers_beside(b,x,ox_shape_of(b),OX_F64,b->dtype);
if(x)oxi_free(x,b_bytes);
if(p)oxi_free(p,p_bytes);
if(m)oxi_free(m,m_bytes);
return made;}
OX_API ox_tensor*ox_ldl_solve(ox_tensor*ld,ox_tensor*pivots,ox_tensor*b){
ox_tensor*in[3]={ld,pivots,b},leading[2],*both[2]={&leading[0],&leading[1]};ox_shape shape;
if(oxi_any_null("ldl_solve",in,3)||!oxi_ldl_is_matrix("ldl_solve",ld))return NULL;
int64_t n=ld->shape[ld->ndim-1];bool fits=b->ndim>=2&&b->shape[b->ndim-2]==n&&b->dtype==ld->dtype&&
oxi_is_int(pivots->dtype)&&oxi_same_sizes(pivots,ld,ld->ndim-1);
if(!fits)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"ldl_solve: %s, pivots %s and %s",oxi_tensor_text(ld),oxi_tensor_text(pivots),oxi_tensor_text(b));
leading[0]=oxi_borrowed(ld);leading[1]=oxi_borrowed(b);leading[0].ndim -=2;leading[1].ndim -=2;
if(!oxi_common_shape("ldl_solve",both,2,&shape))return NULL;
oxi_work work=oxi_work_begin("ldl_solve");shape.dim[shape.ndim++]=n;pivots=ox_expand(pivots,shape);shape.dim[shape.ndim++]=n;
ld=ox_expand(ld,shape);shape.dim[shape.ndim-1]=b->shape[b->ndim-1];b=ox_expand(b,shape);
return oxi_work_end(&work,ld&&pivots&&b?oxi_ldl_solved(ld,pivots,b):NULL);}
/* >>nn/algebra/norms.c */
static ox_tensor*oxi_matrix_last(const char*name,ox_tensor*x,ox_shape dims,int at[2]){if(dims.ndim==0)dims=OX_DIMS(-2,-1);
if(dims.ndim!=2)return OXI_FAIL_NULL(OX_ERR_DIM,"%s: of 2 dims, not %d",name,dims.ndim);
for(int i=0;i<2;i++){at[i]=oxi_own_dim(name,x,(int)dims.dim[i]);
if(at[i]<0)return NULL;}
if(at[0]==at[1])return OXI_FAIL_NULL(OX_ERR_DIM,"%s: dim %d twice",name,at[0]);
ox_shape order=oxi_no_shape();for(int d=0;d<x->ndim;d++)
if(d!=at[0]&&d!=at[1])order.dim[order.ndim++]=d;
order.dim[order.ndim++]=at[0];order.dim[order.ndim++]=at[1];return ox_permute(x,order);}
static ox_tensor*oxi_matrix_norm(const char*name,ox_tensor*x,const char*order,double p){
if(order&&strcmp(order,"fro")==0)return ox_norm(x,2,OX_DIMS(-2,-1),false);
if(order&&strcmp(order,"nuc")==0)return ox_sum(ox_svdvals(x),OX_DIMS(-1),false);
double size=fabs(p);
if(order||(size!=1&&size!=2&&!isinf(size)))
return OXI_FAIL_NULL(OX_ERR_ARG,"%s: order %s%g",name,order?order:"",order?0:p);
ox_tensor*lines=size==2?ox_svdvals(x):ox_sum(ox_abs(x),OX_DIMS(size==1?-2:-1),false);
if(p>0&&lines&&lines->shape[lines->ndim-1]==0)return ox_sum(lines,OX_DIMS(-1),false);
return p>0?ox_amax(lines,OX_DIMS(-1),false):ox_amin(lines,OX_DIMS(-1),false);}
OX_API ox_tensor*ox_matrix_norm(ox_tensor*x,const char*order,double p,ox_shape dims,bool keepdim){int at[2];
if(oxi_any_null("matrix_norm",&x,1))return NULL;
oxi_work work=oxi_work_begin("matrix_norm");ox_tensor*turned=oxi_matrix_last("matrix_norm",x,dims,at);
ox_tensor*made=turned?oxi_matrix_norm("matrix_norm",turned,order,p):NULL;if(made&&keepdim){
int low=at[0]<at[1]?at[0]:at[1],high=at[0]<at[1]?at[1]:at[0];made=ox_unsqueeze(ox_unsqueeze(made,low),high);}
return oxi_work_end(&work,made);}
OX_API ox_tensor*ox_cond(ox_tensor*x,const char*order,double p){if(oxi_any_null("cond",&x,1))return NULL;
if(x->ndim<2)return OXI_FAIL_NULL(OX_ERR_SHAPE,"cond: %s is no matrix",oxi_tensor_text(x));
oxi_work work=oxi_work_begin("cond");if(!order&&fabs(p)==2){ox_tensor*s=ox_svdvals(x),*most,*least;
if(s&&s->shape[s->ndim-1]==0)return oxi_work_end(&work,ox_sum(s,OX_DIMS(-1),false));
most=ox_select(s,-1,0);least=ox_select(s,-1,-1);return oxi_work_end(&work,p>0?ox_div(most,least):ox_div(least,most));}
if(ox_numel(x)==0)return oxi_work_end(&work,ox_sum(x,OX_DIMS(-2,-1),false));
ox_tensor*own=oxi_matrix_norm("cond",x,order,p);return oxi_work_end(&work,ox_mul(own,oxi_matrix_norm("cond",ox_inv(x),order,p)));}
OX_API ox_tensor*ox_matrix_power(ox_tensor*x,int64_t n){if(oxi_any_null("matrix_power",&x,1))return NULL;
if(x->ndim<2||n==INT64_MIN||x->shape[x->ndim-2]!=x->shape[x->ndim-1])
return OXI_FAIL_NULL(OX_ERR_SHAPE,"matrix_power: %s to the %lld",oxi_tensor_text(x),(long long)n);
oxi_work work=oxi_work_begin("matrix_power");ox_tensor*square=n<0?ox_inv(x):x,*made=NULL;
if(n==0)made=ox_clone(ox_expand(oxi_eye_beside(x,x->shape[x->ndim-1]),ox_shape_of(x)));
for(int64_t rest=n<0?-n:n;rest>0&&square;rest/=2){if(rest%2)made=made?ox_matmul(made,square):square;
if(rest>1)square=ox_matmul(square,square);}
return oxi_work_end(&work,made==x?ox_clone(x):made);}
static ox_tensor*oxi_exponential(ox_tensor*x){static const double b[14]={64764752532480000.,32382376266240000.,7771770303897600.,
1187353796428800.,129060195264000.,10559470521600.,670442572800.,33522128640.,1323241920.,40840800.,960960.,16380.,182.,1.};
ox_tensor*wide=oxi_is_complex(x)?x:ox_cast(x,OX_F64),*p[4],*odd,*even;ox_tensor*eye=oxi_eye_beside(wide,x->shape[x->ndim-1]);
double size=ox_item(ox_amax(ox_sum(ox_abs(wide),OX_DIMS(-2),false),OX_ALL_DIMS,false));
if(!eye||ox_error())return NULL;
int halves=0;for(;size>5.371920351148152&&halves<1100;size/=2)halves++;
if(!(size<=6))return ox_mul_number(wide,NAN);
wide=ox_mul_number(wide,ldexp(1.0,-halves));p[0]=eye;p[1]=ox_matmul(wide,wide);p[2]=ox_matmul(p[1],p[1]);p[3]=ox_matmul(p[2],p[1]);
odd=ox_mul_number(p[3],b[13]);even=ox_mul_number(p[3],b[12]);for(int i=1;i<3;i++){odd=ox_add_scaled(odd,p[i],b[7 +2*i]);
even=ox_add_scaled(even,p[i],b[6 +2*i]);}
odd=ox_matmul(p[3],odd);even=ox_matmul(p[3],even);for(int i=0;i<4;i++){odd=ox_add_scaled(odd,p[i],b[2*i+1]);
even=ox_add_scaled(even,p[i],b[2*i]);}
odd=ox_matmul(wide,odd);ox_tensor*made=ox_solve(ox_sub(even,odd),ox_add(even,odd),true);for(;halves>0;halves--)made=ox_matmul(made,made);
return made;}
OX_API ox_tensor*ox_matrix_exp(ox_tensor*x){if(oxi_any_null("matrix_exp",&x,1))return NULL;
if(x->ndim<2||x->shape[x->ndim-2]!=x->shape[x->ndim-1]||(!oxi_is_float(x->dtype)&&!oxi_is_complex(x)))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"matrix_exp: %s",oxi_tensor_text(x));
oxi_work work=oxi_work_begin("matrix_exp");return oxi_work_end(&work,ox_numel(x)?ox_cast(oxi_exponential(x),x->dtype):ox_clone(x));}
OX_API ox_tensor*ox_tensorinv(ox_tensor*x,int ind){if(oxi_any_null("tensorinv",&x,1))return NULL;
ox_shape shape=oxi_no_shape();int64_t rows=1;if(ind<1||ind>x->ndim)
return OXI_FAIL_NULL(OX_ERR_DIM,"tensorinv: %d dims of %s",ind,oxi_tensor_text(x));
for(int d=0;d<ind;d++)rows*=x->shape[d];
for(int d=0;d<x->ndim;d++)shape.dim[shape.ndim++]=x->shape[(d+ind)%x->ndim];
if(rows*rows!=ox_numel(x))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"tensorinv: %s is no square matrix",oxi_tensor_text(x));
oxi_work work=oxi_work_begin("tensorinv");return oxi_work_end(&work,ox_reshape(ox_inv(ox_reshape(x,OX_SHAPE(rows,rows))),shape));}
OX_API ox_tensor*ox_tensorsolve(ox_tensor*a,ox_tensor*b,ox_shape dims){ox_tensor*in[2]={a,b};uint32_t set=0;
if(oxi_any_null("tensorsolve",in,2))return NULL;
if(dims.ndim&&!oxi_dim_set("tensorsolve",a,&dims,&set))return NULL;
ox_shape order=oxi_no_shape(),shape=oxi_no_shape();for(int d=0;d<a->ndim;d++)
if(!(set>>d&1))order.dim[order.ndim++]=d;
for(int i=0;i<dims.ndim;i++)
order.dim[order.ndim++]=dims.dim[i]<0?dims.dim[i]+a->ndim:dims.dim[i];
int64_t rows=ox_numel(b);oxi_work work=oxi_work_begin("tensorsolve");ox_tensor*turned=ox_permute(a,order);
if(!turned||rows*rows!=ox_numel(a)||b->ndim>a->ndim){if(turned)
(void)oxi_fail(OX_ERR_SHAPE,"tensorsolve: %s with %s",oxi_tensor_text(a),oxi_tensor_text(b));
return oxi_work_end(&work,NULL);}
for(int d=b->ndim;d<a->ndim;d++)shape.dim[shape.ndim++]=turned->shape[d];
ox_tensor*x=ox_solve(ox_reshape(turned,OX_SHAPE(rows,rows)),ox_reshape(b,OX_SHAPE(rows)),true);
return oxi_work_end(&work,ox_reshape(x,shape));}
/* >>nn/algebra/products.c */
OX_API ox_tensor*ox_kron(ox_tensor*a,ox_tensor*b){ox_tensor*in[2]={a,b};ox_shape wide[2],shape=oxi_no_shape();
if(oxi_any_null("kron",in,2))return NULL;
int n=a->ndim>b->ndim?a->ndim:b->ndim;if(2*n>OX_MAX_DIMS)return OXI_FAIL_NULL(OX_ERR_SHAPE,"kron: more than %d dims",OX_MAX_DIMS/2);
wide[0]=wide[1]=shape;wide[0].ndim=wide[1].ndim=2*n;shape.ndim=n;for(int d=0;d<n;d++){int64_t own[2];
for(int s=0;s<2;s++){int from=d-(n-in[s]->ndim);
own[s]=from<0?1:in[s]->shape[from];wide[s].dim[2*d+s]=own[s];wide[s].dim[2*d+1 -s]=1;}
shape.dim[d]=own[0]*own[1];}
oxi_work work=oxi_work_begin("kron");return oxi_work_end(&work,ox_reshape(ox_mul(ox_reshape(a,wide[0]),ox_reshape(b,wide[1])),shape));}
OX_API ox_tensor*ox_cross(ox_tensor*a,ox_tensor*b,int dim){ox_tensor*in[2]={a,b};if(oxi_any_null("cross",in,2))return NULL;
int at=oxi_own_dim("cross",a->ndim>=b->ndim?a:b,dim),back=at-(a->ndim>=b->ndim?a:b)->ndim;if(at<0)return NULL;
for(int s=0;s<2;s++)
if(in[s]->ndim<-back||in[s]->shape[in[s]->ndim+back]!=3)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"cross: %s has not 3 elements along dim %d",oxi_tensor_text(in[s]),dim);
oxi_work work=oxi_work_begin("cross");ox_tensor*left=ox_mul(ox_roll(a,OX_DIMS(-1),OX_DIMS(back)),ox_roll(b,OX_DIMS(-2),OX_DIMS(back)));
ox_tensor*right=ox_mul(ox_roll(a,OX_DIMS(-2),OX_DIMS(back)),ox_roll(b,OX_DIMS(-1),OX_DIMS(back)));
return oxi_work_end(&work,ox_sub(left,right));}
OX_API ox_tensor*ox_vander(ox_tensor*x,int64_t columns,bool increasing){if(oxi_any_null("vander",&x,1))return NULL;
if(columns<0)
return OXI_FAIL_NULL(OX_ERR_ARG,"vander: %lld columns of %s",(long long)columns,oxi_tensor_text(x));
oxi_work work=oxi_work_begin("vander");if(x->ndim==0)x=ox_unsqueeze(x,0);
ox_tensor*ones=ox_ones_like(ox_unsqueeze(x,-1)),*parts[2],*made;
if(ones&&(ones->dtype==OX_BOOL||oxi_is_int(ones->dtype)))ones=ox_cast(ones,OX_I64);
if(columns==0)return oxi_work_end(&work,ox_narrow(ones,-1,0,0));
ox_shape wide=ones?ox_shape_of(ones):oxi_no_shape();if(wide.ndim)wide.dim[wide.ndim-1]=columns-1;
parts[0]=ones;parts[1]=ones?ox_cumprod(ox_expand(ox_cast(ox_unsqueeze(x,-1),ones->dtype),wide),-1):NULL;
made=columns==1?ones:ox_cat(parts,2,-1);return oxi_work_end(&work,increasing?made:ox_flip(made,OX_DIMS(-1)));}
OX_API ox_tensor*ox_bilinear(ox_tensor*a,ox_tensor*b,ox_tensor*weight,ox_tensor*bias){ox_tensor*in[3]={a,b,weight};
if(oxi_any_null("bilinear",in,3))return NULL;
if(weight->ndim!=3||a->ndim<1||b->ndim<1)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"bilinear: weight %s",oxi_tensor_text(weight));
oxi_work work=oxi_work_begin("bilinear");ox_tensor*left=ox_tensordot(a,weight,OX_DIMS(-1),OX_DIMS(1));
ox_tensor*made=ox_sum(ox_mul(left,ox_unsqueeze(b,-2)),OX_DIMS(-1),false);if(made&&made->dtype!=a->dtype)made=ox_cast(made,a->dtype);
return oxi_work_end(&work,bias?ox_add(made,bias):made);}
OX_API ox_tensor*ox_block_diag(ox_tensor*const*list,int count){int64_t rows=0,columns=0;
if(count<1)return OXI_FAIL_NULL(OX_ERR_ARG,"block_diag: no tensors");
if(oxi_any_null("block_diag",list,count))return NULL;
ox_dtype dtype=list[0]->dtype;for(int i=0;i<count;i++){const ox_tensor*t=list[i];
if(t->ndim>2)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"block_diag: %s has more than 2 dims",oxi_tensor_text(t));
rows+=t->ndim>1?t->shape[0]:1;columns+=t->ndim?t->shape[t->ndim-1]:1;dtype=ox_promote_types(dtype,t->dtype);}
oxi_work work=oxi_work_begin("block_diag");ox_tensor*out=oxi_full("block_diag",OX_SHAPE(rows,columns),0,dtype,ox_device_of(list[0]));
rows=columns=0;bool done=out!=NULL;
for(int i=0;done&&i<count;i++){ox_tensor*block=oxi_atleast(list[i],2);
if(!block)break;
ox_tensor*place=ox_narrow(ox_narrow(out,0,rows,block->shape[0]),1,columns,block->shape[1]);done=ox_copy_(place,block)!=NULL;
rows+=block->shape[0];columns+=block->shape[1];}
return oxi_work_end(&work,done?out:NULL);}
OX_API ox_tensor*ox_cartesian_prod(ox_tensor*const*list,int count){ox_tensor*grid[OX_MAX_DIMS];ox_scope scope=ox_scope_begin();
ox_tensor*made=NULL;if(count==1&&list[0])
made=oxi_same_again(list[0]);
else if(ox_meshgrid(list,count,"ij",grid,OX_MAX_DIMS)==count)
made=ox_reshape(ox_stack(grid,count,-1),OX_SHAPE(-1,count));
ox_keep(made);ox_scope_end(&scope);return made;}
OX_API ox_tensor*ox_combinations(ox_tensor*x,int r,bool with_replacement){
ox_tensor*grid[OX_MAX_DIMS],*list[OX_MAX_DIMS],*places=NULL,*keep=NULL;if(oxi_any_null("combinations",&x,1))return NULL;
if(x->ndim!=1||r<0||r>OX_MAX_DIMS)
return OXI_FAIL_NULL(OX_ERR_ARG,"combinations: %d of %s",r,oxi_tensor_text(x));
oxi_work work=oxi_work_begin("combinations");if(r==0)return oxi_work_end(&work,ox_narrow(x,0,0,0));
ox_tensor*ramp=oxi_ramp_beside(x,x->shape[0],OX_I64);for(int i=0;i<r;i++)list[i]=ramp;
if(!ramp||ox_meshgrid(list,r,"ij",grid,r)!=r)return oxi_work_end(&work,NULL);
for(int i=0;i+1<r;i++){ox_tensor*rises=with_replacement?ox_le(grid[i],grid[i+1]):ox_lt(grid[i],grid[i+1]);
keep=keep?ox_logical_and(keep,rises):rises;}
for(int i=0;i<r;i++)grid[i]=keep?ox_masked_select(grid[i],keep):grid[i];
places=ox_reshape(ox_stack(grid,r,-1),OX_SHAPE(-1));return oxi_work_end(&work,ox_reshape(ox_index_select(x,0,places),OX_SHAPE(-1,r)));}
enum{OXI_MULTI_DOT_MOST=64};typedef struct oxi_multi_dot{ox_tensor*list[OXI_MULTI_DOT_MOST];
double size[OXI_MULTI_DOT_MOST+1],cost[OXI_MULTI_DOT_MOST][OXI_MULTI_DOT_MOST];
unsigned char cut[OXI_MULTI_DOT_MOST][OXI_MULTI_DOT_MOST];}oxi_multi_dot;
static void oxi_multi_dot_order(oxi_multi_dot*m,int count){for(int span=1;span<count;span++)
for(int i=0;i+span<count;i++){const int last=i+span;
m->cost[i][last]=INFINITY;for(int k=i;k<last;k++){double c=m->cost[i][k]+m->cost[k+1][last]+m->size[i]*m->size[k+1]*m->size[last+1];
if(c>=m->cost[i][last])continue;
m->cost[i][last]=c;m->cut[i][last]=(unsigned char)k;}}}
static ox_tensor*oxi_dot_between(const oxi_multi_dot*m,int first,int last){if(first==last)return m->list[first];
int at=m->cut[first][last];return ox_matmul(oxi_dot_between(m,first,at),oxi_dot_between(m,at+1,last));}
OX_API ox_tensor*ox_multi_dot(ox_tensor*const*list,int count){if(count<2||count>OXI_MULTI_DOT_MOST)
return OXI_FAIL_NULL(OX_ERR_ARG,"multi_dot: %d matrices, not 2 to %d",count,OXI_MULTI_DOT_MOST);
if(oxi_any_null("multi_dot",list,count))return NULL;
for(int i=0;i<count;i++){bool end=i==0||i==count-1;
if(list[i]->ndim!=2&&!(end&&list[i]->ndim==1))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"multi_dot: %s is no matrix",oxi_tensor_text(list[i]));}
oxi_multi_dot*m=(oxi_multi_dot*)oxi_calloc(1,sizeof*m);
if(!m)return NULL;
oxi_work work=oxi_work_begin("multi_dot");
ox_tensor*made=NULL;bool fine=true;for(int i=0;i<count&&fine;i++){m->list[i]=list[i]->ndim==2?list[i]:ox_unsqueeze(list[i],i?1:0);
fine=m->list[i]!=NULL;if(!fine)break;
m->size[i]=(double)m->list[i]->shape[0];
m->size[i+1]=(double)m->list[i]->shape[1];}
if(fine){oxi_multi_dot_order(m,count);
made=oxi_dot_between(m,0,count-1);}
if(list[count-1]->ndim==1)made=ox_squeeze(made,-1);
if(list[0]->ndim==1)made=ox_squeeze(made,0);
oxi_free(m,sizeof*m);return oxi_work_end(&work,made);}
/* >>nn/statistics/order.c */
OX_API ox_tensor*ox_bincount(ox_tensor*x,ox_tensor*weights,int64_t least){if(oxi_any_null("bincount",&x,1))return NULL;
if(x->ndim!=1||!oxi_is_int(x->dtype)||least<0)
return OXI_FAIL_NULL(OX_ERR_ARG,"bincount: %s, at least %lld",oxi_tensor_text(x),(long long)least);
oxi_work work=oxi_work_begin("bincount");int64_t bins=ox_numel(x)?ox_item_int(ox_amax(x,OX_ALL_DIMS,false))+1:0;if(bins<least)bins=least;
ox_dtype dtype=!weights?OX_I64:weights->dtype==OX_F32?OX_F32:OX_F64;
ox_tensor*zeros=oxi_full("bincount",OX_SHAPE(bins),0,dtype,ox_device_of(x));ox_tensor*each=
weights?ox_cast(weights,dtype):oxi_full("bincount",ox_shape_of(x),1,dtype,ox_device_of(x));
return oxi_work_end(&work,ox_index_add(zeros,0,ox_cast(x,OX_I64),each,1));}
static ox_tensor*oxi_binned(ox_tensor*values,ox_tensor*edges,ox_tensor*weights){int64_t bins=edges->shape[0]-1;
ox_tensor*place=ox_sub(oxi_searched(edges,values,true),ox_integer(1));ox_tensor*at_end=ox_eq(values,ox_select(edges,0,-1));
place=ox_where(at_end,ox_integer(bins-1),place);ox_tensor*inside=ox_logical_and(ox_ge_number(place,0),ox_lt(place,ox_integer(bins)));
ox_tensor*each=weights?weights:ox_ones_like(values);each=ox_where(inside,each,ox_number(0));place=ox_clamp(place,0,(double)(bins-1));
ox_tensor*zeros=oxi_full("histogram",OX_SHAPE(bins),0,values->dtype,ox_device_of(values));return ox_index_add(zeros,0,place,each,1);}
static bool oxi_histogram_range(const char*name,ox_tensor*x,int64_t bins,double*low,double*high){
if(bins<1||*low>*high||!oxi_is_float(x->dtype)){(void)oxi_fail(OX_ERR_ARG,"%s: %s in %lld bins from %g to %g",name,oxi_tensor_text(x),
(long long)bins,*low,*high);
return false;}
if(*low==*high&&ox_numel(x)&&*low==0){*low=ox_item(ox_amin(x,OX_ALL_DIMS,false));
*high=ox_item(ox_amax(x,OX_ALL_DIMS,false));}
if(*low==*high){*low-=1;
*high+=1;}
if(isfinite(*low)&&isfinite(*high))return ox_error()==OX_OK;
(void)oxi_fail(OX_ERR_ARG,"%s: the range from %g to %g is not finite",name,*low,*high);return false;}
OX_API ox_tensor*ox_histc(ox_tensor*x,int64_t bins,double low,double high){if(oxi_any_null("histc",&x,1))return NULL;
oxi_work work=oxi_work_begin("histc");if(!oxi_histogram_range("histc",x,bins,&low,&high))return oxi_work_end(&work,NULL);
ox_tensor*flat=ox_reshape(x,OX_SHAPE(-1));ox_tensor*span=ox_mul_number(ox_sub_number(flat,low),(double)bins);
ox_tensor*place=ox_floor(ox_div_number(span,high-low));ox_tensor*inside=ox_logical_and(ox_ge_number(flat,low),ox_le_number(flat,high));
place=ox_clamp(ox_cast(ox_where(inside,place,ox_number(0)),OX_I64),0,(double)(bins-1));
ox_tensor*zeros=oxi_full("histc",OX_SHAPE(bins),0,x->dtype,ox_device_of(x));
return oxi_work_end(&work,ox_index_add(zeros,0,place,ox_cast(inside,x->dtype),1));}
OX_API ox_tuple ox_histogram(ox_tensor*x,ox_tensor*edges,ox_tensor*weights,bool density){ox_tensor*in[2]={x,edges};
if(oxi_any_null("histogram",in,2))return oxi_no_tuple();
if(edges->ndim!=1||edges->shape[0]<2){(void)oxi_fail(OX_ERR_SHAPE,"histogram: edges %s",oxi_tensor_text(edges));
return oxi_no_tuple();}
oxi_work work=oxi_work_begin("histogram");ox_tensor*flat=ox_reshape(x,OX_SHAPE(-1));ox_tensor*counts=
flat?oxi_binned(flat,edges,weights?ox_reshape(weights,OX_SHAPE(-1)):NULL):NULL;
int64_t bins=edges->shape[0]-1;if(counts&&density){ox_tensor*widths=ox_sub(ox_narrow(edges,0,1,bins),ox_narrow(edges,0,0,bins));
counts=ox_div(counts,ox_mul(ox_sum(counts,OX_ALL_DIMS,false),widths));}
return oxi_tuple_end(&work,counts,ox_clone(edges),NULL);}
static ox_pair oxi_sorted_element(oxi_work*work,ox_tensor*x,ox_tensor*order,ox_tensor*place,int at,bool keepdim){
ox_tensor*index=ox_gather(order,at,place),*value=ox_gather(x,at,index);if(!keepdim){index=ox_squeeze(index,at);
value=ox_squeeze(value,at);}
return oxi_pair_end(work,value,index);}
static ox_shape oxi_line_shape(const ox_tensor*x,int at){ox_shape shape=ox_shape_of(x);shape.dim[at]=1;return shape;}
OX_API ox_pair ox_kthvalue(ox_tensor*x,int64_t k,int dim,bool keepdim){int at;bool number=x&&x->ndim==0;
if(oxi_any_null("kthvalue",&x,1))return oxi_no_pair();
oxi_work work=oxi_work_begin("kthvalue");if(!oxi_lines("kthvalue",&x,dim,&at))return oxi_pair_end(&work,NULL,NULL);
if(k<1||k>x->shape[at]){(void)oxi_fail(OX_ERR_ARG,"kthvalue: the %lldth of lines of %s",(long long)k,oxi_tensor_text(x));
return oxi_pair_end(&work,NULL,NULL);}
ox_tensor*place=oxi_full("kthvalue",oxi_line_shape(x,at),(double)(k-1),OX_I64,ox_device_of(x));
ox_tensor*order=ox_argsort(x,at,false);return oxi_pair_of_number(oxi_sorted_element(&work,x,order,place,at,keepdim||number),number);}
static ox_pair oxi_median(const char*name,ox_tensor*x,int dim,bool keepdim,bool skips){int at;
bool number=x&&(x->ndim==0||dim==OX_FLATTENED);if(oxi_any_null(name,&x,1))return oxi_no_pair();
oxi_work work=oxi_work_begin(name);if(!oxi_lines(name,&x,dim,&at))return oxi_pair_end(&work,NULL,NULL);
int64_t size=x->shape[at];if(size==0){(void)oxi_fail(OX_ERR_SHAPE,"%s: of lines without elements: %s",name,oxi_tensor_text(x));
return oxi_pair_end(&work,NULL,NULL);}
ox_pair sorted=ox_sort(x,at,false);ox_tensor*place,*order=sorted.indices;if(!oxi_is_float(x->dtype))
place=oxi_full(name,oxi_line_shape(x,at),(double)((size-1)/2),OX_I64,ox_device_of(x));
else{ox_tensor*known=ox_sum(ox_logical_not(ox_isnan(x)),OX_DIMS(at),true);
ox_tensor*middle=ox_floor_divide(ox_sub(known,ox_integer(1)),ox_integer(2));middle=ox_maximum(middle,ox_integer(0));
place=skips?middle:ox_where(ox_lt(known,ox_integer(size)),known,middle);place=ox_minimum(place,ox_integer(size-1));}
return oxi_pair_of_number(oxi_sorted_element(&work,x,order,place,at,keepdim||number),number);}
OX_API ox_pair ox_median(ox_tensor*x,int dim,bool keepdim){return oxi_median("median",x,dim,keepdim,false);}
OX_API ox_pair ox_nanmedian(ox_tensor*x,int dim,bool keepdim){return oxi_median("nanmedian",x,dim,keepdim,true);}
OX_API ox_pair ox_mode(ox_tensor*x,int dim,bool keepdim){int at;bool number=x&&x->ndim==0;
if(oxi_any_null("mode",&x,1))return oxi_no_pair();
oxi_work work=oxi_work_begin("mode");if(!oxi_lines("mode",&x,dim,&at))return oxi_pair_end(&work,NULL,NULL);
int64_t size=x->shape[at];if(size==0){(void)oxi_fail(OX_ERR_SHAPE,"mode: of lines without elements: %s",oxi_tensor_text(x));
return oxi_pair_end(&work,NULL,NULL);}
ox_pair sorted=ox_sort(x,at,false);ox_shape ramp_shape=oxi_no_shape();ramp_shape.ndim=x->ndim;
for(int d=0;d<x->ndim;d++)ramp_shape.dim[d]=d==at?size:1;
ox_tensor*ramp=ox_reshape(oxi_ramp_beside(x,size,OX_I64),ramp_shape),*parts[2];parts[0]=ox_ones_like(ox_narrow(sorted.indices,at,0,1));
parts[1]=ox_cast(ox_ne(ox_narrow(sorted.values,at,1,size-1),ox_narrow(sorted.values,at,0,size-1)),OX_I64);
ox_tensor*starts=ox_mul(ox_cat(parts,2,at),ramp);ox_tensor*length=ox_sub(ramp,ox_cummax(starts,at).values);
ox_tensor*place=ox_max(length,at,true).indices;
return oxi_pair_of_number(oxi_sorted_element(&work,x,sorted.indices,place,at,keepdim||number),number);}
/* >>nn/statistics/statistics.c */
OX_API ox_tensor*ox_nanmean(ox_tensor*x,ox_shape dims,bool keepdim){if(oxi_any_null("nanmean",&x,1))return NULL;
oxi_work work=oxi_work_begin("nanmean");ox_tensor*known=ox_sum(ox_logical_not(ox_isnan(x)),dims,keepdim);
return oxi_work_end(&work,ox_div(ox_nansum(x,dims,keepdim),known));}
static ox_tensor*oxi_covariance(ox_tensor*x,double correction,ox_tensor*counts,ox_tensor*weights){ox_tensor*each=counts,*factor,*mean;
if(weights)each=counts?ox_mul(counts,weights):weights;
ox_tensor*total=each?ox_sum(each,OX_ALL_DIMS,false):ox_number((double)x->shape[1]);
mean=each?ox_div(ox_sum(ox_mul(x,each),OX_DIMS(1),true),total):ox_mean(x,OX_DIMS(1),true);if(weights&&correction!=0){
ox_tensor*squares=ox_sum(ox_mul(each,weights),OX_ALL_DIMS,false);factor=ox_sub(total,ox_div(ox_mul_number(squares,correction),total));
}else
factor=ox_sub_number(total,correction);
factor=ox_clamp(oxi_as_float(factor),0,INFINITY);ox_tensor*apart=ox_sub(x,mean);ox_tensor*other=each?ox_mul(apart,each):apart;
if(x->dtype==OX_C64)other=ox_conj(other);
return ox_div(ox_matmul(apart,ox_t(ox_cast(other,apart?apart->dtype:OX_F32))),factor);}
OX_API ox_tensor*ox_cov(ox_tensor*x,int64_t correction,ox_tensor*counts,ox_tensor*weights){if(oxi_any_null("cov",&x,1))return NULL;
if(x->ndim>2)return OXI_FAIL_NULL(OX_ERR_SHAPE,"cov: %s has more than 2 dims",oxi_tensor_text(x));
int64_t each=x->ndim?x->shape[x->ndim-1]:1;if((counts&&(ox_numel(counts)!=each||oxi_info(counts->dtype)->cls>=OX_CLASS_FLOAT))||
(weights&&ox_numel(weights)!=each))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"cov: not an integer count, or a weight, an observation");
oxi_work work=oxi_work_begin("cov");ox_tensor*lines=oxi_as_float(x->ndim==2?x:ox_reshape(x,OX_SHAPE(1,-1)));
ox_tensor*made=lines?oxi_covariance(lines,(double)correction,counts,weights):NULL;
return oxi_work_end(&work,lines&&lines->shape[0]==1?ox_reshape(made,OX_ALL_DIMS):made);}
OX_API ox_tensor*ox_corrcoef(ox_tensor*x){if(oxi_any_null("corrcoef",&x,1))return NULL;
if(x->ndim>2)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"corrcoef: %s has more than 2 dims",oxi_tensor_text(x));
oxi_work work=oxi_work_begin("corrcoef");ox_tensor*c=ox_cov(x,1,NULL,NULL);if(c&&c->ndim==0)return oxi_work_end(&work,ox_div(c,c));
ox_tensor*size=ox_sqrt(ox_diagonal(c&&c->dtype==OX_C64?ox_real(c):c,0,0,1));
c=ox_div(ox_div(c,ox_unsqueeze(size,1)),ox_unsqueeze(size,0));return oxi_work_end(&work,c&&c->dtype!=OX_C64?ox_clamp(c,-1,1):c);}
static ox_tensor*oxi_between_elements(ox_tensor*sorted,ox_tensor*place,int at,const char*how){
ox_tensor*below=ox_floor(place),*above=ox_ceil(place),*share=ox_sub(place,below);if(strcmp(how,"lower")==0)above=below;
if(strcmp(how,"higher")==0)below=above;
if(strcmp(how,"nearest")==0)below=above=ox_round(place);
ox_tensor*a=ox_gather(sorted,at,ox_cast(below,OX_I64));if(below==above)return a;
ox_tensor*b=ox_gather(sorted,at,ox_cast(above,OX_I64));if(strcmp(how,"midpoint")==0)share=ox_full_like(share,0.5);
return ox_lerp(a,b,ox_cast(share,sorted->dtype));}
static ox_tensor*oxi_quantile(const char*name,ox_tensor*x,ox_tensor*q,int dim,bool keepdim,const char*how,bool skips){
static const char*const known[]={"linear","lower","higher","nearest","midpoint"};ox_tensor*in[2]={x,q};int at,ndim,listed=0;
if(oxi_any_null(name,in,2))return NULL;
if(!how)how=known[0];
for(int i=0;i<5;i++)listed+=strcmp(how,known[i])==0;
ndim=x->ndim;if(!listed||q->ndim>1||!oxi_is_float(x->dtype))
return OXI_FAIL_NULL(OX_ERR_ARG,"%s: %s at %s, \"%s\"",name,oxi_tensor_text(x),oxi_tensor_text(q),how);
oxi_work work=oxi_work_begin(name);if(!oxi_lines(name,&x,dim,&at))return oxi_work_end(&work,NULL);
int64_t size=x->shape[at];if(size==0){(void)oxi_fail(OX_ERR_SHAPE,"%s: of lines without elements: %s",name,oxi_tensor_text(x));
return oxi_work_end(&work,NULL);}
ox_tensor*sorted=ox_movedim(ox_sort(x,at,false).values,at,-1);ox_tensor*nan=ox_isnan(sorted),*last;
ox_tensor*count=ox_sum(ox_logical_not(nan),OX_DIMS(-1),true);if(skips)
last=ox_clamp(ox_sub(count,ox_integer(1)),0,INFINITY);
else
last=ox_full_like(count,(double)(size-1));
ox_tensor*points=ox_reshape(ox_cast(q,x->dtype),OX_SHAPE(-1));
ox_tensor*made=oxi_between_elements(sorted,ox_mul(ox_cast(last,x->dtype),points),-1,how);
ox_tensor*none=skips?ox_eq_number(count,0):ox_any(nan,OX_DIMS(-1),true);made=ox_movedim(ox_where(none,ox_number(NAN),made),-1,0);
if(made&&keepdim&&dim!=OX_FLATTENED&&ndim)made=ox_unsqueeze(made,at+1);
if(made&&(dim==OX_FLATTENED||ndim==0)){ox_shape shape=oxi_no_shape();
shape.ndim=1 +(keepdim&&dim==OX_FLATTENED?ndim:0);for(int d=0;d<shape.ndim;d++)shape.dim[d]=d?1:ox_numel(q);
made=ox_reshape(made,shape);}
return oxi_work_end(&work,q->ndim?ox_contiguous(made):ox_contiguous(ox_select(made,0,0)));}
OX_API ox_tensor*ox_quantile(ox_tensor*x,ox_tensor*q,int dim,bool keepdim,const char*interpolation){
return oxi_quantile("quantile",x,q,dim,keepdim,interpolation,false);}
OX_API ox_tensor*ox_nanquantile(ox_tensor*x,ox_tensor*q,int dim,bool keepdim,const char*interpolation){
return oxi_quantile("nanquantile",x,q,dim,keepdim,interpolation,true);}
OX_API ox_tensor*ox_diff(ox_tensor*x,int64_t times,int dim,ox_tensor*before,ox_tensor*after){if(oxi_any_null("diff",&x,1))return NULL;
int at=x->ndim?oxi_own_dim("diff",x,dim):oxi_wrap_dim("diff",dim,0);if(at<0)return NULL;
if(x->ndim==0||times<0)
return OXI_FAIL_NULL(OX_ERR_ARG,"diff: %lld times, of %s",(long long)times,oxi_tensor_text(x));
oxi_work work=oxi_work_begin("diff");ox_tensor*parts[3],*line=x;int count=0;if(before&&times)parts[count++]=before;
parts[count++]=x;if(after&&times)parts[count++]=after;
if(count>1)line=ox_cat(parts,count,at);
if(line&&times==0)line=ox_clone(line);
for(int64_t i=0;line&&i<times;i++){int64_t size=line->shape[at],rest=size>0?size-1:0;
ox_tensor*late=ox_narrow(line,at,size-rest,rest),*early=ox_narrow(line,at,0,rest);
line=x->dtype==OX_BOOL?ox_logical_xor(late,early):ox_sub(late,early);if(rest==0)break;}
return oxi_work_end(&work,line);}
OX_API ox_tensor*ox_gradient_along(ox_tensor*x,ox_tensor*spacing,int dim,int edge_order){
if(oxi_any_null("gradient_along",&x,1))return NULL;
int at=oxi_own_dim("gradient_along",x,dim);if(at<0)return NULL;
int64_t n=x->shape[at];if((edge_order!=1&&edge_order!=2)||n<edge_order+1||
(spacing&&spacing->ndim>0&&(spacing->ndim!=1||spacing->shape[0]!=n)))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"gradient_along: dim %d of %s with edges of order %d",at,oxi_tensor_text(x),edge_order);
oxi_work work=oxi_work_begin("gradient_along");ox_shape wide=oxi_no_shape();wide.ndim=x->ndim;
for(int d=0;d<x->ndim;d++)wide.dim[d]=d==at?-1:1;
bool even=!spacing||spacing->ndim==0;ox_tensor*one=spacing&&even?spacing:ox_number(1);
ox_tensor*gaps=even?NULL:ox_reshape(ox_diff(spacing,1,0,NULL,NULL),wide),*parts[3];
ox_tensor*rise=ox_diff(oxi_as_float(x),1,at,NULL,NULL);ox_tensor*slope=ox_div(rise,even?one:gaps);
if(!slope)return oxi_work_end(&work,NULL);
ox_tensor*left=ox_narrow(slope,at,0,n-2),*right=ox_narrow(slope,at,1,n-2);if(even)
parts[1]=ox_mul_number(ox_add(left,right),0.5);
else{ox_tensor*g=ox_narrow(gaps,at,0,n-2),*h=ox_narrow(gaps,at,1,n-2);
parts[1]=ox_div(ox_add(ox_mul(left,h),ox_mul(right,g)),ox_add(g,h));}
parts[0]=ox_narrow(slope,at,0,1);parts[2]=ox_narrow(slope,at,n-2,1);if(edge_order==2&&even){
parts[0]=ox_sub(ox_mul_number(parts[0],1.5),ox_mul_number(ox_narrow(slope,at,1,1),0.5));
parts[2]=ox_sub(ox_mul_number(parts[2],1.5),ox_mul_number(ox_narrow(slope,at,n-3,1),0.5));}else if(edge_order==2){
ox_tensor*g0=ox_narrow(gaps,at,0,1),*g1=ox_narrow(gaps,at,1,1);ox_tensor*h0=ox_narrow(gaps,at,n-2,1),*h1=ox_narrow(gaps,at,n-3,1);
ox_tensor*bend0=ox_sub(ox_narrow(slope,at,1,1),parts[0]);ox_tensor*bend1=ox_sub(parts[2],ox_narrow(slope,at,n-3,1));
parts[0]=ox_sub(parts[0],ox_mul(bend0,ox_div(g0,ox_add(g0,g1))));parts[2]=ox_add(parts[2],ox_mul(bend1,ox_div(h0,ox_add(h0,h1))));}
return oxi_work_end(&work,ox_cat(parts,3,at));}
static ox_tensor*oxi_areas(const char*name,ox_tensor*y,ox_tensor*x,double dx,int dim,int*at){*at=oxi_own_dim(name,y,dim);
if(*at<0)return NULL;
int64_t n=y->shape[*at],rest=n>0?n-1:0;ox_tensor*sums=ox_add(ox_narrow(y,*at,n-rest,rest),ox_narrow(y,*at,0,rest));
if(!x)return ox_mul_number(sums,dx/2);
ox_shape wide=oxi_no_shape();wide.ndim=y->ndim;for(int d=0;d<y->ndim;d++)wide.dim[d]=d==*at?-1:1;
if(x->ndim==1)x=ox_reshape(x,wide);
int places=*at-y->ndim;if(!x||x->ndim<-places)
return x?OXI_FAIL_NULL(OX_ERR_SHAPE,"%s: places %s of %s",name,oxi_tensor_text(x),oxi_tensor_text(y)):NULL;
int64_t known=x->shape[x->ndim+places];ox_tensor*widths=known==1?ox_zeros_like(x):ox_diff(x,1,places,NULL,NULL);
return ox_mul_number(ox_mul(sums,widths),0.5);}
OX_API ox_tensor*ox_trapezoid(ox_tensor*y,ox_tensor*x,double dx,int dim){int at;
if(oxi_any_null("trapezoid",&y,1))return NULL;
oxi_work work=oxi_work_begin("trapezoid");ox_tensor*areas=oxi_areas("trapezoid",y,x,dx,dim,&at);
return oxi_work_end(&work,areas?ox_sum(areas,OX_DIMS(at-y->ndim),false):NULL);}
OX_API ox_tensor*ox_cumulative_trapezoid(ox_tensor*y,ox_tensor*x,double dx,int dim){int at;
if(oxi_any_null("cumulative_trapezoid",&y,1))return NULL;
oxi_work work=oxi_work_begin("cumulative_trapezoid");ox_tensor*areas=oxi_areas("cumulative_trapezoid",y,x,dx,dim,&at);
return oxi_work_end(&work,areas?ox_cumsum(areas,at-y->ndim):NULL);}
OX_API ox_tensor*ox_dist(ox_tensor*a,ox_tensor*b,double p){ox_tensor*in[2]={a,b};
if(oxi_any_null("dist",in,2))return NULL;
oxi_work work=oxi_work_begin("dist");return oxi_work_end(&work,ox_norm(ox_sub(a,b),p,OX_ALL_DIMS,false));}
OX_API ox_tensor*ox_cdist(ox_tensor*a,ox_tensor*b,double p){ox_tensor*in[2]={a,b};
if(oxi_any_null("cdist",in,2))return NULL;
if(a->ndim<2||b->ndim<2||a->shape[a->ndim-1]!=b->shape[b->ndim-1]||!(p>=0))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"cdist: %s and %s, p %g",oxi_tensor_text(a),oxi_tensor_text(b),p);
oxi_work work=oxi_work_begin("cdist");ox_tensor*apart=ox_sub(ox_unsqueeze(a,-2),ox_unsqueeze(b,-3));
if(apart&&apart->shape[apart->ndim-1]==0)
return oxi_work_end(&work,ox_sum(apart,OX_DIMS(-1),false));
return oxi_work_end(&work,ox_norm(apart,p,OX_DIMS(-1),false));}
OX_API ox_tensor*ox_pdist(ox_tensor*x,double p){if(oxi_any_null("pdist",&x,1))return NULL;
if(x->ndim!=2||!(p>=0))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"pdist: %s, p %g",oxi_tensor_text(x),p);
oxi_work work=oxi_work_begin("pdist");ox_tensor*pairs=ox_triu_indices(x->shape[0],x->shape[0],1);
if(pairs)pairs=ox_to(pairs,oxi_working_device(ox_device_of(x)));
ox_tensor*apart=ox_sub(ox_index_select(x,0,ox_select(pairs,0,0)),ox_index_select(x,0,ox_select(pairs,0,1)));
if(apart&&x->shape[1]==0)return oxi_work_end(&work,ox_sum(apart,OX_DIMS(-1),false));
return oxi_work_end(&work,ox_norm(apart,p,OX_DIMS(-1),false));}
OX_API ox_tensor*ox_renorm(ox_tensor*x,double p,int dim,double most){if(oxi_any_null("renorm",&x,1))return NULL;
int at=oxi_own_dim("renorm",x,dim);if(at<0)return NULL;
if(!(p>0)||!(most>=0)||x->ndim<2)
return OXI_FAIL_NULL(OX_ERR_ARG,"renorm: %s, p %g, at most %g",oxi_tensor_text(x),p,most);
oxi_work work=oxi_work_begin("renorm");ox_tensor*size=ox_norm(x,p,oxi_dims_of_set(((1u<<x->ndim)-1)&~(1u<<at)),true);
ox_tensor*factor=ox_rdiv_number(ox_add_number(size,1e-7),most);
return oxi_work_end(&work,ox_mul(x,ox_where(ox_gt_number(size,most),factor,ox_number(1))));}
OX_API ox_tensor*ox_normalize(ox_tensor*x,double p,int dim,double eps){if(oxi_any_null("normalize",&x,1))return NULL;
oxi_work work=oxi_work_begin("normalize");ox_tensor*size=ox_norm(x,p,x->ndim?OX_DIMS(dim):OX_ALL_DIMS,true);
return oxi_work_end(&work,ox_div(x,ox_clamp(size,eps,INFINITY)));}
/* >>nn/statistics/masked.c */
static ox_tensor*oxi_seen(ox_tensor*x,ox_tensor*mask,double value){return mask?ox_where(mask,x,ox_number(value)):x;}
static ox_tensor*oxi_seen_count(ox_tensor*x,ox_tensor*mask,ox_shape dims,bool keepdim){ox_tensor*ones=mask?ox_expand(mask,ox_shape_of(x))
:oxi_full("count",ox_shape_of(x),1,OX_BOOL,ox_device_of(x));
return ox_sum(ones,dims,keepdim);}
#define OXI_MASKED(name, ...)\
OX_API ox_tensor*ox_masked_##name(ox_tensor*x,ox_tensor*mask,ox_shape dims,bool keepdim){\
if(oxi_any_null("masked_"#name,&x,1))return NULL;\
oxi_work work=oxi_work_begin("masked_"#name);\
return oxi_work_end(&work,(__VA_ARGS__));}
static ox_tensor*oxi_seen_extreme(ox_tensor*x,ox_tensor*mask,ox_shape dims,bool keepdim,bool largest){
if(x->dtype==OX_BOOL||oxi_is_int(x->dtype)){double least=x->dtype==OX_BOOL?0:oxi_integer_least(x->dtype);
int64_t most=x->dtype==OX_BOOL?1:x->dtype==OX_I64||x->dtype==OX_U64?INT64_MAX:(int64_t)(oxi_integer_end(x->dtype)-1);
ox_tensor*edge=ox_integer(largest?(int64_t)least:most);x=mask?ox_where(mask,x,edge):x;}else
x=oxi_seen(x,mask,largest?-INFINITY:INFINITY);
return largest?ox_amax(x,dims,keepdim):ox_amin(x,dims,keepdim);}
static ox_tensor*oxi_seen_or(ox_tensor*x,ox_tensor*mask,int64_t value){return mask?ox_where(mask,x,ox_integer(value)):x;}
OXI_MASKED(sum,ox_sum(oxi_seen_or(x,mask,0),dims,keepdim))
OXI_MASKED(prod,ox_prod(oxi_seen_or(x,mask,1),dims,keepdim))
OXI_MASKED(amax,oxi_seen_extreme(x,mask,dims,keepdim,true))
OXI_MASKED(amin,oxi_seen_extreme(x,mask,dims,keepdim,false))
OXI_MASKED(mean,ox_div(ox_sum(oxi_seen_or(x,mask,0),dims,keepdim),oxi_seen_count(x,mask,dims,keepdim)))
OXI_MASKED(logsumexp,ox_logsumexp(oxi_seen(oxi_as_float(x),mask,-INFINITY),dims,keepdim))
static ox_tensor*oxi_seen_variance(ox_tensor*x,ox_tensor*mask,ox_shape dims,double correction,bool keepdim){x=oxi_as_float(x);
ox_tensor*count=oxi_seen_count(x,mask,dims,true);ox_tensor*mean=ox_div(ox_sum(oxi_seen_or(x,mask,0),dims,true),count);
ox_tensor*apart=ox_sub(x,mean);apart=oxi_is_complex(x)?ox_square(ox_abs(apart)):ox_square(apart);
ox_tensor*freedom=ox_cast(oxi_seen_count(x,mask,dims,keepdim),apart?apart->dtype:OX_F32);
freedom=ox_sub_number(freedom,correction);
return ox_div(ox_sum(oxi_seen(apart,mask,0),dims,keepdim),ox_clamp(freedom,0,INFINITY));}
OX_API ox_tensor*ox_masked_var(ox_tensor*x,ox_tensor*mask,ox_shape dims,double correction,bool keepdim){
if(oxi_any_null("masked_var",&x,1))return NULL;
oxi_work work=oxi_work_begin("masked_var");return oxi_work_end(&work,oxi_seen_variance(x,mask,dims,correction,keepdim));}
OX_API ox_tensor*ox_masked_std(ox_tensor*x,ox_tensor*mask,ox_shape dims,double correction,bool keepdim){
if(oxi_any_null("masked_std",&x,1))return NULL;
oxi_work work=oxi_work_begin("masked_std");return oxi_work_end(&work,ox_sqrt(oxi_seen_variance(x,mask,dims,correction,keepdim)));}
OX_API ox_tensor*ox_masked_norm(ox_tensor*x,ox_tensor*mask,double p,ox_shape dims,bool keepdim){
if(oxi_any_null("masked_norm",&x,1))return NULL;
oxi_work work=oxi_work_begin("masked_norm");return oxi_work_end(&work,ox_norm(oxi_seen(x,mask,p<0?INFINITY:0),p,dims,keepdim));}
#define OXI_MASKED_ALONG(name, ...)\
OX_API ox_tensor*ox_masked_##name(ox_tensor*x,ox_tensor*mask,int dim){\
if(oxi_any_null("masked_"#name,&x,1))return NULL;\
oxi_work work=oxi_work_begin("masked_"#name);\
return oxi_work_end(&work,(__VA_ARGS__));}
OXI_MASKED_ALONG(softmax,ox_softmax(oxi_seen(x,mask,-INFINITY),dim))
OXI_MASKED_ALONG(log_softmax,ox_log_softmax(oxi_seen(x,mask,-INFINITY),dim))
OXI_MASKED_ALONG(softmin,ox_softmin(oxi_seen(x,mask,INFINITY),dim))
OXI_MASKED_ALONG(cumsum,ox_cumsum_as(oxi_seen_or(x,mask,0),dim,x->dtype))
OXI_MASKED_ALONG(cumprod,ox_cumprod_as(oxi_seen_or(x,mask,1),dim,x->dtype))
OX_API ox_pair ox_masked_median(ox_tensor*x,ox_tensor*mask,int dim,bool keepdim){
if(oxi_any_null("masked_median",&x,1))return oxi_no_pair();
oxi_work work=oxi_work_begin("masked_median");ox_pair pair=ox_nanmedian(oxi_seen(x,mask,NAN),dim,keepdim);
return oxi_pair_end(&work,pair.values,pair.indices);}
/* >>nn/random.c */
static ox_tensor*oxi_drawn_above_0(ox_tensor*x){ox_dtype dtype=x->dtype==OX_F64?OX_F64:OX_F32;
ox_tensor*u=oxi_full("draw",ox_shape_of(x),0,dtype,oxi_working_device(ox_device_of(x)));return ox_rsub_number(ox_uniform_(u,0,1),1);}
static ox_tensor*oxi_drawn_into(const char*name,ox_tensor*x,bool fits,double a,double b){if(oxi_any_null(name,&x,1))return NULL;
if(!fits)return OXI_FAIL_NULL(OX_ERR_ARG,"%s: of %g, %g",name,a,b);
oxi_work work=oxi_work_begin(name);ox_tensor*u=oxi_drawn_above_0(x),*made=NULL;
if(strcmp(name,"exponential_")==0)made=ox_mul_number(ox_log(u),-1/a);
if(strcmp(name,"cauchy_")==0)
made=ox_add_number(ox_mul_number(ox_tan(ox_mul_number(ox_sub_number(u,0.5),OXI_PI_F64)),b),a);
if(strcmp(name,"log_normal_")==0)made=ox_exp(ox_normal_(u,a,b));
if(strcmp(name,"geometric_")==0)
made=ox_clamp(ox_ceil(ox_mul_number(ox_log(u),1/log1p(-a))),1,INFINITY);
bool done=made&&ox_copy_(x,made);
(void)oxi_work_end(&work,NULL);return done?x:NULL;}
OX_API ox_tensor*ox_exponential_(ox_tensor*x,double rate){return oxi_drawn_into("exponential_",x,rate>0,rate,0);}
OX_API ox_tensor*ox_cauchy_(ox_tensor*x,double median,double scale){return oxi_drawn_into("cauchy_",x,scale>0,median,scale);}
OX_API ox_tensor*ox_log_normal_(ox_tensor*x,double mean,double deviation){
return oxi_drawn_into("log_normal_",x,deviation>0,mean,deviation);}
OX_API ox_tensor*ox_geometric_(ox_tensor*x,double p){return oxi_drawn_into("geometric_",x,p>0&&p<1,p,0);}
static ox_tensor*oxi_keeps(ox_tensor*x,double p,bool whole){ox_shape shape=ox_shape_of(x);
for(int d=2;whole&&d<shape.ndim;d++)shape.dim[d]=1;
ox_dtype dtype=x->dtype==OX_F64?OX_F64:OX_F32;
return ox_bernoulli_(oxi_full("dropout",shape,0,dtype,oxi_working_device(ox_device_of(x))),1 -p);}
static ox_tensor*oxi_dropped(const char*name,ox_tensor*x,double p,bool training,bool whole,bool selu){
if(oxi_any_null(name,&x,1))return NULL;
if(p>=0&&p<=1&&(!training||p==0))return ox_clone(x);
if(!(p>=0&&p<=1)||(whole&&x->ndim<2))
return OXI_FAIL_NULL(OX_ERR_ARG,"%s: p %g of %s",name,p,oxi_tensor_text(x));
oxi_work work=oxi_work_begin(name);const double least=1.7580993408473766,a=1/sqrt((least*least*p+1)*(1 -p));
if(p==1)return oxi_work_end(&work,ox_mul_number(x,0));
ox_tensor*keeps=oxi_keeps(x,p,whole),*more;if(!selu)return oxi_work_end(&work,ox_mul(x,ox_cast(ox_mul_number(keeps,1/(1 -p)),x->dtype)));
more=ox_add_number(ox_mul_number(ox_sub_number(keeps,1),least*a),least*a*p);keeps=ox_cast(ox_mul_number(keeps,a),x->dtype);
return oxi_work_end(&work,ox_add(ox_mul(x,keeps),ox_cast(more,x->dtype)));}
OX_API ox_tensor*ox_feature_dropout(ox_tensor*x,double p,bool training){return oxi_dropped("feature_dropout",x,p,training,true,false);}
OX_API ox_tensor*ox_alpha_dropout(ox_tensor*x,double p,bool training){return oxi_dropped("alpha_dropout",x,p,training,false,true);}
OX_API ox_tensor*ox_feature_alpha_dropout(ox_tensor*x,double p,bool training){
return oxi_dropped("feature_alpha_dropout",x,p,training,true,true);}
/* >>nn/signal.c */
static ox_tensor*oxi_window_ramp(const char*name,int64_t length,bool symmetric,ox_dtype dtype,double*last){
if(dtype==OX_DTYPE_NONE)dtype=ox_default_dtype();
if(length<0||!oxi_is_float(dtype))
return OXI_FAIL_NULL(OX_ERR_ARG,"%s: %lld elements of %s",name,(long long)length,ox_dtype_name(dtype));
*last=(double)(symmetric?length-1:length);
if(length<2)*last=1;
return ox_arange(0,(double)length,1,dtype);}
OX_API ox_tensor*ox_window_general_cosine(int64_t length,const double*a,int count,bool symmetric,ox_dtype dtype){double last;
if(!oxi_number_fits("window_general_cosine",a&&count>0,count))return NULL;
oxi_work work=oxi_work_begin("window_general_cosine");
ox_tensor*ramp=oxi_window_ramp("window_general_cosine",length,symmetric,dtype,&last),*sum=NULL;
if(length==1)return oxi_work_end(&work,ramp?ox_ones_like(ramp):NULL);
for(int i=0;i<count&&ramp;i++){double size=i%2?-a[i]:a[i];
ox_tensor*term=ox_mul_number(ox_cos(ox_mul_number(ramp,2*OXI_PI_F64*i/last)),size);sum=i?ox_add(sum,term):term;}
return oxi_work_end(&work,sum);}
#define OXI_WINDOW(name, ...)\
OX_API ox_tensor*ox_window_##name(int64_t length,bool symmetric,ox_dtype dtype){\
static const double terms[]={__VA_ARGS__};\
return ox_window_general_cosine(length,terms,(int)(sizeof terms/sizeof*terms),symmetric,dtype);}
OXI_WINDOW(hann,0.5,0.5)
OXI_WINDOW(hamming,0.54,0.46)
OXI_WINDOW(blackman,0.42,0.5,0.08)
OXI_WINDOW(nuttall,0.3635819,0.4891775,0.1365995,0.0106411)
#define OXI_WINDOW_OF(name,fits,number,parameters, ...)\
OX_API ox_tensor*ox_window_##name parameters{\
double last;\
if(!oxi_number_fits("window_"#name,fits,number))return NULL;\
oxi_work work=oxi_work_begin("window_"#name);\
ox_tensor*ramp=oxi_window_ramp("window_"#name,length,symmetric,dtype,&last);\
if(ramp&&length==1)return oxi_work_end(&work,ox_ones_like(ramp));\
return oxi_work_end(&work,ramp?(__VA_ARGS__):NULL);}
#define OXI_FROM_MIDDLE ox_sub_number(ramp,last/2)
OXI_WINDOW_OF(bartlett,true,0,(int64_t length,bool symmetric,ox_dtype dtype),
ox_rsub_number(ox_abs(ox_sub_number(ox_mul_number(ramp,2/last),1)),1))
OXI_WINDOW_OF(cosine,true,0,(int64_t length,bool symmetric,ox_dtype dtype),
ox_sin(ox_mul_number(ox_add_number(ramp,0.5),OXI_PI_F64/(last+1))))
OXI_WINDOW_OF(gaussian,deviation>0,deviation,(int64_t length,double deviation,bool symmetric,ox_dtype dtype),
ox_exp(ox_neg(ox_square(ox_mul_number(OXI_FROM_MIDDLE,1/(deviation*sqrt(2.0)))))))
OXI_WINDOW_OF(exponential,tau>0&&(isnan(center)||!symmetric),tau,(int64_t length,double center,double tau,bool symmetric,ox_dtype dtype),
ox_exp(ox_mul_number(ox_abs(isnan(center)?OXI_FROM_MIDDLE:ox_sub_number(ramp,center)),-1/tau)))
static ox_tensor*oxi_kaiser(ox_tensor*ramp,double last,double beta){
ox_tensor*x=ox_sub_number(ox_mul_number(ox_cast(ramp,OX_F64),2/last),1);
ox_tensor*b=ox_mul_number(ox_sqrt(ox_clamp(ox_rsub_number(ox_square(x),1),0,1)),beta);
ox_tensor*y=ox_div(ox_mul(ox_i0e(b),ox_exp(ox_sub_number(b,beta))),ox_i0e(ox_number(beta)));return y?ox_cast(y,ramp->dtype):NULL;}
OXI_WINDOW_OF(kaiser,beta>=0,beta,(int64_t length,double beta,bool symmetric,ox_dtype dtype),oxi_kaiser(ramp,last,beta))
/* >>nn/spectra.c */
static ox_tensor*oxi_fft_shifted(const char*name,ox_tensor*x,ox_shape dims,bool back){if(oxi_any_null(name,&x,1))return NULL;
if(dims.ndim==0)
for(;dims.ndim<x->ndim;dims.ndim++)dims.dim[dims.ndim]=dims.ndim;
if(dims.ndim==0)return oxi_same_again(x);
ox_shape shifts=dims;for(int i=0;i<dims.ndim;i++){int at=oxi_own_dim(name,x,(int)dims.dim[i]);
if(at<0)return NULL;
shifts.dim[i]=back?(x->shape[at]+1)/2:x->shape[at]/2;}
oxi_work work=oxi_work_begin(name);return oxi_work_end(&work,ox_roll(x,shifts,dims));}
OX_API ox_tensor*ox_fftshift(ox_tensor*x,ox_shape dims){return oxi_fft_shifted("fftshift",x,dims,false);}
OX_API ox_tensor*ox_ifftshift(ox_tensor*x,ox_shape dims){return oxi_fft_shifted("ifftshift",x,dims,true);}
OX_API ox_tensor*ox_rfftfreq(int64_t n,double d,ox_dtype dtype){
if(n<1)return OXI_FAIL_NULL(OX_ERR_ARG,"rfftfreq: %lld elements",(long long)n);
oxi_work work=oxi_work_begin("rfftfreq");if(dtype==OX_DTYPE_NONE)dtype=ox_default_dtype();
return oxi_work_end(&work,ox_mul_number(ox_arange(0,(double)(n/2 +1),1,dtype),1/((double)n*d)));}
OX_API ox_tensor*ox_fftfreq(int64_t n,double d,ox_dtype dtype){
if(n<1)return OXI_FAIL_NULL(OX_ERR_ARG,"fftfreq: %lld elements",(long long)n);
oxi_work work=oxi_work_begin("fftfreq");if(dtype==OX_DTYPE_NONE)dtype=ox_default_dtype();
ox_tensor*ramp=ox_arange(-(double)(n/2),(double)(n-n/2),1,dtype);
return oxi_work_end(&work,ox_mul_number(ox_ifftshift(ramp,OX_ALL_DIMS),1/((double)n*d)));}
static bool oxi_stft_told(const char*name,int64_t n_fft,const ox_stft_desc*desc,ox_stft_desc*told,ox_tensor*x){ox_tensor*parts[3];
memset(told,0,sizeof*told);told->center=told->onesided=true;if(desc)*told=*desc;
if(told->hop==0)told->hop=n_fft/4;
if(told->window_length==0)told->window_length=told->window?ox_numel(told->window):n_fft;
if(n_fft<1||told->hop<1||told->window_length<1||told->window_length>n_fft||
(told->window&&(told->window->ndim!=1||told->window->shape[0]!=told->window_length))){
(void)oxi_fail(OX_ERR_ARG,"%s: %lld samples, %lld apart, a window of %lld",name,(long long)n_fft,
(long long)told->hop,(long long)told->window_length);
return false;}
ox_dtype dtype=x->dtype==OX_F64?OX_F64:OX_F32;int64_t left=(n_fft-told->window_length)/2,right=n_fft-told->window_length-left;
ox_device*device=oxi_working_device(ox_device_of(x));parts[0]=oxi_full(name,OX_SHAPE(left),0,dtype,device);
parts[1]=told->window?told->window:oxi_full(name,OX_SHAPE(told->window_length),1,dtype,device);
parts[2]=oxi_full(name,OX_SHAPE(right),0,dtype,device);if(parts[0]&&parts[1]&&parts[2])told->window=ox_cat(parts,3,0);
return told->window!=NULL;}
static ox_tensor*oxi_mirrored(ox_tensor*x,int64_t more){int64_t n=x->shape[x->ndim-1];if(more>=n)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"stft: %lld samples are fewer than are mirrored",(long long)n);
ox_tensor*parts[3];parts[0]=ox_flip(ox_narrow(x,-1,1,more),OX_DIMS(-1));parts[1]=x;
parts[2]=ox_flip(ox_narrow(x,-1,n-1 -more,more),OX_DIMS(-1));return ox_cat(parts,3,-1);}
OX_API ox_tensor*ox_stft(ox_tensor*x,int64_t n_fft,const ox_stft_desc*desc){ox_stft_desc told;if(oxi_any_null("stft",&x,1))return NULL;
oxi_work work=oxi_work_begin("stft");if(!oxi_stft_told("stft",n_fft,desc,&told,x))return oxi_work_end(&work,NULL);
ox_tensor*wide=told.center?oxi_mirrored(x,n_fft/2):x;ox_tensor*frames=ox_mul(ox_unfold(wide,-1,n_fft,told.hop),told.window);
const char*norm=told.normalized?"ortho":NULL;ox_tensor*made=told.onesided?ox_rfft(frames,0,-1,norm):ox_fft(frames,0,-1,norm);
return oxi_work_end(&work,ox_transpose(made,-1,-2));}
static ox_tensor*oxi_overlapped(ox_tensor*frames,int64_t hop){
int64_t count=frames->shape[frames->ndim-2],n=frames->shape[frames->ndim-1],total=n+hop*(count-1);
ox_tensor*places=ox_unfold(oxi_ramp_beside(frames,total,OX_I64),0,n,hop);ox_shape shape=ox_shape_of(frames);shape.ndim--;
shape.dim[shape.ndim-1]=-1;ox_tensor*flat=ox_reshape(frames,shape);shape.dim[shape.ndim-1]=total;
ox_tensor*zeros=oxi_full("istft",shape,0,frames->dtype,oxi_working_device(ox_device_of(frames)));
return ox_index_add(zeros,-1,ox_reshape(places,OX_SHAPE(-1)),flat,1);}
OX_API ox_tensor*ox_istft(ox_tensor*x,int64_t n_fft,int64_t length,const ox_stft_desc*desc){ox_stft_desc told;
if(oxi_any_null("istft",&x,1))return NULL;
oxi_work work=oxi_work_begin("istft");if(x->ndim<2||x->dtype!=OX_C64||!oxi_stft_told("istft",n_fft,desc,&told,x)){
if(ox_error()==OX_OK)(void)oxi_fail(OX_ERR_SHAPE,"istft: of %s",oxi_tensor_text(x));
return oxi_work_end(&work,NULL);}
const char*norm=told.normalized?"ortho":NULL;ox_tensor*turned=ox_transpose(x,-1,-2);
ox_tensor*frames=told.onesided?ox_irfft(turned,n_fft,-1,norm):ox_ifft(turned,0,-1,norm);frames=ox_mul(frames,told.window);
if(!frames)return oxi_work_end(&work,NULL);
ox_tensor*weight=ox_expand(ox_square(told.window),OX_SHAPE(frames->shape[frames->ndim-2],n_fft));
ox_tensor*sum=oxi_overlapped(frames,told.hop),*whole=weight?oxi_overlapped(weight,told.hop):NULL;int64_t start=told.center?n_fft/2:0,
total=n_fft+told.hop*(frames->shape[frames->ndim-2]-1);
int64_t end=length>0?start+length:told.center?total-n_fft/2:total,known=end<total?end:total;sum=ox_narrow(sum,-1,start,known-start);
whole=ox_narrow(whole,-1,start,known-start);if(whole&&ox_numel(whole)&&ox_item(ox_amin(ox_abs(whole),OX_ALL_DIMS,false))<1e-11){
(void)oxi_fail(OX_ERR_ARG,"istft: windows leave samples out");
return oxi_work_end(&work,NULL);}
sum=ox_div(sum,whole);return oxi_work_end(&work,sum?oxi_resized(sum,sum->ndim-1,end-start):NULL);}
/* >>nn/sparse/sparse.c */
static ox_sparse oxi_no_sparse(void){ox_sparse none;memset(&none,0,sizeof none);return none;}
static ox_sparse oxi_sparse_fail(ox_status status,const char*name,const ox_tensor*a,const ox_tensor*b){
(void)oxi_fail(status,"%s: %s with %s",name,oxi_tensor_text(a),oxi_tensor_text(b));return oxi_no_sparse();}
static ox_sparse oxi_sparse_end(oxi_work*work,ox_tensor*values,ox_tensor*indices,ox_tensor*pointers,
bool csr,ox_shape shape,bool coalesced){bool made=values&&indices&&(pointers||!csr);
ox_tuple kept=oxi_tuple_end(work,made?values:NULL,indices,pointers);ox_sparse s=oxi_no_sparse();if(!kept.t[0])return s;
s.values=kept.t[0];s.indices=kept.t[1];s.pointers=kept.t[2];s.shape=shape;s.coalesced=coalesced;return s;}
static bool oxi_sparse_is(const char*name,const ox_sparse*s){ox_tensor*values=s?s->values:NULL;return!oxi_any_null(name,&values,1);}
static bool oxi_sparse_matrix(const char*name,const ox_sparse*s){if(!oxi_sparse_is(name,s))return false;
if(s->shape.ndim==2&&s->values->ndim==1)return true;
(void)oxi_fail(OX_ERR_SHAPE,"%s: values %s of %d dims are no sparse matrix",name,oxi_tensor_text(s->values),s->shape.ndim);return false;}
static int oxi_sparse_dims(const ox_sparse*s){return s->pointers?2:(int)s->indices->shape[0];}
static bool oxi_sparse_cells(const char*name,ox_shape shape,int dims,int64_t*cells){int64_t count=1;for(int d=0;d<dims;d++){
if(shape.dim[d]<0||(shape.dim[d]&&count>INT64_MAX/shape.dim[d])){(void)oxi_fail(OX_ERR_SHAPE,"%s: sizes that no tensor has",name);
return false;}
count*=shape.dim[d];}
*cells=count;return true;}
static ox_tensor*oxi_sparse_places(const ox_sparse*s){int dims=oxi_sparse_dims(s);ox_tensor*place=NULL;for(int d=0;d<dims;d++){
ox_tensor*at=ox_select(s->indices,0,d);place=d?ox_add(ox_mul(place,ox_integer(s->shape.dim[d])),at):at;}
return place;}
static ox_tensor*oxi_csr_rows(const ox_tensor*pointers,ox_tensor*columns){ox_tensor*from=(ox_tensor*)(uintptr_t)pointers;
ox_tensor*ramp=oxi_ramp_beside(columns,columns->shape[0],OX_I64);return ox_sub(ox_searchsorted(from,ramp,true),ox_integer(1));}
static bool oxi_sparse_inside(const char*name,ox_tensor*indices,int64_t end){if(ox_numel(indices)==0)return true;
int64_t least=ox_item_int(ox_amin(indices,OX_ALL_DIMS,false)),most=ox_item_int(ox_amax(indices,OX_ALL_DIMS,false));
if(ox_error())return false;
if(least>=0&&most<end)return true;
(void)oxi_fail(OX_ERR_INDEX,"%s: indices from %lld to %lld of %lld",name,(long long)least,(long long)most,(long long)end);return false;}
OX_API ox_sparse ox_sparse_coo_tensor(ox_tensor*indices,ox_tensor*values,ox_shape shape){const char*name="sparse_coo_tensor";
ox_tensor*both[2]={indices,values};if(oxi_any_null(name,both,2))return oxi_no_sparse();
if(indices->ndim!=2||values->ndim<1||values->shape[0]!=indices->shape[1]||
indices->shape[0]<1||indices->shape[0]+values->ndim-1>OX_MAX_DIMS)
return oxi_sparse_fail(OX_ERR_SHAPE,name,indices,values);
if(!oxi_is_int(indices->dtype))return oxi_sparse_fail(OX_ERR_DTYPE,name,indices,values);
oxi_work work=oxi_work_begin(name);int dims=(int)indices->shape[0],rest=values->ndim-1;indices=ox_cast(indices,OX_I64);
bool fits=indices&&(shape.ndim==0||shape.ndim==dims+rest);
for(int d=0;d<rest&&fits&&shape.ndim;d++)fits=shape.dim[dims+d]==values->shape[1 +d];
if(!fits){(void)oxi_fail(OX_ERR_SHAPE,"%s: %d dims of values %s",name,shape.ndim,oxi_tensor_text(values));
indices=NULL;}
bool grows=shape.ndim==0;for(int d=0;d<dims&&indices;d++){ox_tensor*own=ox_select(indices,0,d);
if(grows)shape.dim[d]=ox_numel(own)?ox_item_int(ox_amax(own,OX_ALL_DIMS,false))+1:0;
if(!oxi_sparse_inside(name,own,shape.dim[d]))indices=NULL;}
for(int d=0;d<rest;d++)shape.dim[dims+d]=values->shape[1 +d];
shape.ndim=dims+rest;values=indices?ox_view(values,ox_shape_of(values)):NULL;
return oxi_sparse_end(&work,values,indices,NULL,false,shape,false);}
OX_API ox_sparse ox_sparse_csr_tensor(ox_tensor*pointers,ox_tensor*columns,ox_tensor*values,ox_shape shape){
const char*name="sparse_csr_tensor";ox_tensor*all[3]={pointers,columns,values};if(oxi_any_null(name,all,3))return oxi_no_sparse();
if(pointers->ndim!=1||columns->ndim!=1||values->ndim!=1||shape.ndim!=2||
pointers->shape[0]!=shape.dim[0]+1||columns->shape[0]!=values->shape[0])
return oxi_sparse_fail(OX_ERR_SHAPE,name,columns,values);
if(!oxi_is_int(pointers->dtype)||!oxi_is_int(columns->dtype))
return oxi_sparse_fail(OX_ERR_DTYPE,name,pointers,columns);
oxi_work work=oxi_work_begin(name);pointers=ox_cast(pointers,OX_I64);columns=ox_cast(columns,OX_I64);
bool fits=pointers&&columns&&oxi_sparse_inside(name,columns,shape.dim[1]);if(fits){bool rises=ox_item_int(ox_select(pointers,0,0))==0&&
ox_item_int(ox_select(pointers,0,-1))==columns->shape[0]&&ox_item_int(ox_all(ox_ge_number(ox_diff(pointers,1,0,NULL,NULL),0),OX_ALL_DIMS,
false))==1;
if(!rises)(void)oxi_fail(OX_ERR_INDEX,"%s: pointers do not rise from 0 to the count",name);
fits=rises;}
return oxi_sparse_end(&work,fits?ox_view(values,ox_shape_of(values)):NULL,columns,pointers,true,shape,false);}
OX_API ox_sparse ox_to_sparse(ox_tensor*x,int sparse_dims){const char*name="to_sparse";int64_t cells;
if(oxi_any_null(name,&x,1))return oxi_no_sparse();
if(sparse_dims==0)sparse_dims=x->ndim;
ox_shape shape=ox_shape_of(x),flat=shape;if(sparse_dims<1||sparse_dims>x->ndim||!oxi_sparse_cells(name,shape,sparse_dims,&cells)){
if(!ox_error())
(void)oxi_fail(OX_ERR_DIM,"%s: %d dims of %s",name,sparse_dims,oxi_tensor_text(x));
return oxi_no_sparse();}
oxi_work work=oxi_work_begin(name);ox_shape tail=oxi_no_shape();for(int d=sparse_dims;d<x->ndim;d++)tail.dim[tail.ndim++]=d;
ox_tensor*some=ox_ne_number(x,0);if(tail.ndim)some=ox_any(some,tail,false);
ox_tensor*indices=ox_t(ox_nonzero(some));flat.ndim=1 +tail.ndim;flat.dim[0]=cells;
for(int d=0;d<tail.ndim;d++)flat.dim[1 +d]=shape.dim[sparse_dims+d];
ox_sparse s=oxi_no_sparse();s.indices=indices=indices?ox_contiguous(indices):NULL;s.shape=shape;
ox_tensor*values=indices?ox_index_select(ox_reshape(x,flat),0,oxi_sparse_places(&s)):NULL;
return oxi_sparse_end(&work,values,indices,NULL,false,shape,true);}
OX_API ox_sparse ox_sparse_to_coo(const ox_sparse*s){if(!oxi_sparse_is("sparse_to_coo",s))return oxi_no_sparse();
oxi_work work=oxi_work_begin("sparse_to_coo");ox_tensor*indices=ox_view(s->indices,ox_shape_of(s->indices));if(s->pointers){
ox_tensor*both[2]={oxi_csr_rows(s->pointers,s->indices),s->indices};indices=both[0]?ox_stack(both,2,0):NULL;}
return oxi_sparse_end(&work,ox_view(s->values,ox_shape_of(s->values)),indices,NULL,false,s->shape,!s->pointers&&s->coalesced);}
OX_API ox_sparse ox_sparse_coalesce(const ox_sparse*s){if(!oxi_sparse_is("sparse_coalesce",s))return oxi_no_sparse();
if(s->coalesced&&!s->pointers)return ox_sparse_to_coo(s);
oxi_work work=oxi_work_begin("sparse_coalesce");ox_sparse coo=ox_sparse_to_coo(s);int dims=coo.values?oxi_sparse_dims(&coo):0;
int64_t cells;ox_tensor*parts[OX_MAX_DIMS],*values=NULL,*indices=NULL;
if(coo.values&&oxi_sparse_cells("sparse_coalesce",s->shape,dims,&cells)){ox_tuple each=ox_unique(oxi_sparse_places(&coo),OX_FLATTENED);
ox_shape shape=ox_shape_of(coo.values);if(each.t[0]){shape.dim[0]=ox_numel(each.t[0]);
values=ox_index_add(oxi_full("zeros",shape,0,coo.values->dtype,ox_device_of(coo.values)),0,each.t[1],coo.values,1);}
ox_shape first=s->shape;first.ndim=dims;if(values&&ox_unravel_index(each.t[0],first,parts,dims)==dims)
indices=ox_stack(parts,dims,0);}
return oxi_sparse_end(&work,values,indices,NULL,false,s->shape,true);}
OX_API ox_sparse ox_sparse_to_csr(const ox_sparse*s){if(!oxi_sparse_matrix("sparse_to_csr",s))return oxi_no_sparse();
oxi_work work=oxi_work_begin("sparse_to_csr");ox_tensor*values=NULL,*columns=NULL,*pointers=NULL;if(s->pointers){
values=ox_view(s->values,ox_shape_of(s->values));columns=ox_view(s->indices,ox_shape_of(s->indices));
pointers=ox_view(s->pointers,ox_shape_of(s->pointers));}else{ox_sparse coo=ox_sparse_coalesce(s);
if(coo.values){ox_tensor*rows=ox_contiguous(ox_select(coo.indices,0,0));
ox_tensor*ends=rows?oxi_ramp_beside(rows,s->shape.dim[0]+1,OX_I64):NULL;pointers=ends?ox_searchsorted(rows,ends,false):NULL;
columns=ox_contiguous(ox_select(coo.indices,0,1));values=coo.values;}}
return oxi_sparse_end(&work,values,columns,pointers,true,s->shape,false);}
OX_API ox_sparse ox_to_sparse_csr(ox_tensor*x){if(oxi_any_null("to_sparse_csr",&x,1))return oxi_no_sparse();
oxi_work work=oxi_work_begin("to_sparse_csr");ox_sparse coo=ox_to_sparse(x,0),csr=oxi_no_sparse();
if(coo.values)csr=ox_sparse_to_csr(&coo);
return oxi_sparse_end(&work,csr.values,csr.indices,csr.pointers,true,csr.shape,false);}
OX_API ox_tensor*ox_to_dense(const ox_sparse*s){int64_t cells;if(!oxi_sparse_is("to_dense",s))return NULL;
oxi_work work=oxi_work_begin("to_dense");ox_sparse coo=ox_sparse_to_coo(s);
if(!coo.values||!oxi_sparse_cells("to_dense",s->shape,oxi_sparse_dims(&coo),&cells))
return oxi_work_end(&work,NULL);
ox_shape shape=ox_shape_of(coo.values);shape.dim[0]=cells;
ox_tensor*zeros=oxi_full("zeros",shape,0,coo.values->dtype,ox_device_of(coo.values));
ox_tensor*whole=ox_index_add(zeros,0,oxi_sparse_places(&coo),coo.values,1);return oxi_work_end(&work,ox_reshape(whole,s->shape));}
OX_API ox_sparse ox_sparse_t(const ox_sparse*s){if(!oxi_sparse_matrix("sparse_t",s))return oxi_no_sparse();
oxi_work work=oxi_work_begin("sparse_t");ox_sparse coo=ox_sparse_to_coo(s);ox_shape shape=OX_SHAPE(s->shape.dim[1],s->shape.dim[0]);
return oxi_sparse_end(&work,coo.values,coo.indices?ox_flip(coo.indices,OX_DIMS(0)):NULL,NULL,false,shape,false);}
OX_API ox_sparse ox_sparse_add(const ox_sparse*a,const ox_sparse*b){
if(!oxi_sparse_is("sparse_add",a)||!oxi_sparse_is("sparse_add",b))return oxi_no_sparse();
bool same=a->shape.ndim==b->shape.ndim&&oxi_sparse_dims(a)==oxi_sparse_dims(b);
for(int d=0;d<a->shape.ndim&&same;d++)same=a->shape.dim[d]==b->shape.dim[d];
if(!same)return oxi_sparse_fail(OX_ERR_SHAPE,"sparse_add",a->values,b->values);
oxi_work work=oxi_work_begin("sparse_add");ox_sparse left=ox_sparse_to_coo(a),right=ox_sparse_to_coo(b),both=oxi_no_sparse(),sum=both;
ox_tensor*values[2]={left.values,right.values},*indices[2]={left.indices,right.indices};if(left.values&&right.values){
both.values=ox_cat(values,2,0);both.indices=ox_cat(indices,2,1);both.shape=a->shape;
if(both.values&&both.indices)sum=ox_sparse_coalesce(&both);}
return oxi_sparse_end(&work,sum.values,sum.indices,NULL,false,a->shape,true);}
static ox_sparse oxi_sparse_with(oxi_work*work,const ox_sparse*s,ox_tensor*values){
ox_tensor*pointers=s->pointers?ox_view(s->pointers,ox_shape_of(s->pointers)):NULL;
return oxi_sparse_end(work,values,ox_view(s->indices,ox_shape_of(s->indices)),pointers,s->pointers!=NULL,s->shape,s->coalesced);}
OX_API ox_sparse ox_sparse_mul_number(const ox_sparse*s,double factor){if(!oxi_sparse_is("sparse_mul_number",s))return oxi_no_sparse();
oxi_work work=oxi_work_begin("sparse_mul_number");return oxi_sparse_with(&work,s,ox_mul_number(s->values,factor));}
OX_API ox_tensor*ox_sparse_sum(const ox_sparse*s){return oxi_sparse_is("sparse_sum",s)?ox_sum(s->values,OX_ALL_DIMS,false):NULL;}
OX_API ox_tensor*ox_sparse_mm(const ox_sparse*s,ox_tensor*dense){const char*name="sparse_mm";
if(oxi_any_null(name,&dense,1)||!oxi_sparse_matrix(name,s))return NULL;
if(dense->ndim<1||dense->ndim>2||dense->shape[0]!=s->shape.dim[1]||dense->dtype!=s->values->dtype)
return OXI_FAIL_NULL(dense->dtype==s->values->dtype?OX_ERR_SHAPE:OX_ERR_DTYPE,
"%s: values %s of [%lld,%lld] x %s",name,oxi_tensor_text(s->values),
(long long)s->shape.dim[0],(long long)s->shape.dim[1],oxi_tensor_text(dense));
oxi_work work=oxi_work_begin(name);ox_sparse coo=ox_sparse_to_coo(s);if(!coo.values)return oxi_work_end(&work,NULL);
ox_tensor*rows=ox_index_select(dense,0,ox_select(coo.indices,0,1));ox_tensor*each=dense->ndim==2?ox_unsqueeze(coo.values,1):coo.values;
ox_shape shape=ox_shape_of(dense);shape.dim[0]=s->shape.dim[0];
ox_tensor*zeros=oxi_full("zeros",shape,0,dense->dtype,ox_device_of(dense));
return oxi_work_end(&work,ox_index_add(zeros,0,ox_select(coo.indices,0,0),ox_mul(rows,each),1));}
OX_API ox_tensor*ox_sparse_addmm(ox_tensor*c,const ox_sparse*s,ox_tensor*dense,double beta,double alpha){
if(oxi_any_null("sparse_addmm",&c,1))return NULL;
oxi_work work=oxi_work_begin("sparse_addmm");ox_tensor*product=ox_sparse_mm(s,dense);if(!product)return oxi_work_end(&work,NULL);
return oxi_onto(&work,c,product,beta,alpha);}
OX_API ox_sparse ox_sparse_sampled_addmm(const ox_sparse*s,ox_tensor*a,ox_tensor*b,double beta,double alpha){
const char*name="sparse_sampled_addmm";ox_tensor*both[2]={a,b};
if(oxi_any_null(name,both,2)||!oxi_sparse_matrix(name,s))return oxi_no_sparse();
if(a->ndim!=2||b->ndim!=2||a->shape[0]!=s->shape.dim[0]||b->shape[1]!=s->shape.dim[1]||a->shape[1]!=b->shape[0])
return oxi_sparse_fail(OX_ERR_SHAPE,name,a,b);
oxi_work work=oxi_work_begin(name);ox_sparse coo=ox_sparse_to_coo(s);if(!coo.values)return oxi_sparse_with(&work,s,NULL);
ox_tensor*rows=ox_index_select(a,0,ox_select(coo.indices,0,0));ox_tensor*columns=ox_index_select(ox_t(b),0,ox_select(coo.indices,0,1));
ox_tensor*product=ox_mul_number(ox_sum(ox_mul(rows,columns),OX_DIMS(1),false),alpha);
if(beta!=0)product=ox_add(ox_mul_number(s->values,beta),product);
return oxi_sparse_with(&work,s,product);}
static ox_sparse oxi_sparse_softmax_of(const char*name,const ox_sparse*s,int dim,bool logs){
if(!oxi_sparse_matrix(name,s))return oxi_no_sparse();
if(dim<-2||dim>1||!oxi_is_float(s->values->dtype)){
(void)oxi_fail(OX_ERR_DIM,"%s: dim %d, values %s",name,dim,oxi_tensor_text(s->values));return oxi_no_sparse();}
oxi_work work=oxi_work_begin(name);ox_sparse coo=ox_sparse_coalesce(s);
if(!coo.values)return oxi_sparse_end(&work,NULL,NULL,NULL,false,s->shape,true);
int other=dim==1||dim==-1?0:1;ox_tensor*at=ox_select(coo.indices,0,other);ox_tensor*zeros=
oxi_full("zeros",OX_SHAPE(s->shape.dim[other]),0,coo.values->dtype,ox_device_of(coo.values));
ox_tensor*most=ox_index_reduce(zeros,0,at,ox_detach(coo.values),OX_REDUCTION_AMAX,false);
ox_tensor*less=ox_sub(coo.values,ox_index_select(most,0,at));
ox_tensor*sums=ox_index_select(ox_index_add(zeros,0,at,ox_exp(less),1),0,at);less=ox_sub(less,ox_log(sums));
return oxi_sparse_end(&work,logs?less:ox_exp(less),coo.indices,NULL,false,s->shape,true);}
OX_API ox_sparse ox_sparse_softmax(const ox_sparse*s,int dim){return oxi_sparse_softmax_of("sparse_softmax",s,dim,false);}
OX_API ox_sparse ox_sparse_log_softmax(const ox_sparse*s,int dim){return oxi_sparse_softmax_of("sparse_log_softmax",s,dim,true);}
/* >>nn/sparse/bags.c */
static ox_tensor*oxi_bag_of(ox_tensor*ids,ox_tensor*offsets,int64_t each){ox_tensor*ramp=oxi_ramp_beside(ids,ox_numel(ids),OX_I64);
if(!offsets)return ox_floor_divide(ramp,ox_integer(each?each:1));
return ox_sub(ox_searchsorted(ox_contiguous(ox_cast(offsets,OX_I64)),ramp,true),ox_integer(1));}
static bool oxi_offsets_fit(ox_tensor*offsets,int64_t count,bool has_end){ox_scope scope=ox_scope_begin();
bool fits=offsets->ndim==1&&oxi_is_int(offsets->dtype)&&offsets->shape[0]>=has_end;if(fits&&ox_numel(offsets)){
ox_tensor*wide=ox_cast(offsets,OX_I64);fits=ox_item_int(ox_select(wide,0,0))==0&&ox_item_int(ox_select(wide,0,-1))<=count&&
ox_item_int(ox_all(ox_ge_number(ox_diff(wide,1,0,NULL,NULL),0),OX_ALL_DIMS,false))==1;}
ox_scope_end(&scope);if(!fits)
(void)oxi_fail(OX_ERR_INDEX,"embedding_bag: offsets %s of %lld ids",oxi_tensor_text(offsets),(long long)count);
return fits;}
typedef struct oxi_bags{ox_tensor*ids,*bag,*weights;int64_t count;}oxi_bags;static bool oxi_bags_without(oxi_bags*b,int64_t padding){
if(padding<0)return b->ids&&b->bag;
ox_tensor*keep=ox_flatten(ox_nonzero(ox_ne(b->ids,ox_integer(padding))),0,-1);b->ids=ox_index_select(b->ids,0,keep);
b->bag=ox_index_select(b->bag,0,keep);if(b->weights)b->weights=ox_index_select(b->weights,0,keep);
return b->ids&&b->bag;}
static ox_tensor*oxi_bags_reduced(const oxi_bags*b,ox_tensor*table,char mode){ox_tensor*rows=ox_embedding(b->ids,table);
if(!rows)return NULL;
ox_tensor*zeros=oxi_full("zeros",OX_SHAPE(b->count,table->shape[1]),0,rows->dtype,ox_device_of(rows));
if(mode=='x')return ox_index_reduce(zeros,0,b->bag,rows,OX_REDUCTION_AMAX,false);
if(b->weights)rows=ox_mul(rows,ox_unsqueeze(b->weights,1));
ox_tensor*sums=ox_index_add(zeros,0,b->bag,rows,1);if(mode=='s')return sums;
ox_tensor*ones=oxi_constant_beside(rows,OX_SHAPE(ox_numel(b->bag)),1);ox_tensor*none=oxi_constant_beside(rows,OX_SHAPE(b->count),0);
ox_tensor*counts=ox_clamp(ox_index_add(none,0,b->bag,ones,1),1,INFINITY);return ox_div(sums,ox_unsqueeze(counts,1));}
OX_API ox_tensor*ox_embedding_bag(ox_tensor*ids,ox_tensor*table,ox_tensor*offsets,const char*mode,
ox_tensor*weights,bool has_end,int64_t padding){ox_tensor*both[2]={ids,table};
if(oxi_any_null("embedding_bag",both,2))return NULL;
char how=!mode||strcmp(mode,"mean")==0?'m':strcmp(mode,"sum")==0?'s':strcmp(mode,"max")==0?'x':0;
if(!how||(weights&&how!='s')||padding>=(table->ndim?table->shape[0]:0))
return OXI_FAIL_NULL(OX_ERR_ARG,"embedding_bag: mode \"%s\"%s, padding %lld",mode?mode:"mean",
weights?" with weights":"",(long long)padding);
bool fits=table->ndim==2&&(offsets?ids->ndim==1:ids->ndim==2&&!has_end)&&(!weights||oxi_same_sizes(weights,ids,-1));if(!fits)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"embedding_bag: ids %s%s of a table %s",oxi_tensor_text(ids),
offsets?" with offsets":"",oxi_tensor_text(table));
if(!oxi_is_int(ids->dtype))
return OXI_FAIL_NULL(OX_ERR_DTYPE,"embedding_bag: ids %s",oxi_tensor_text(ids));
if(offsets&&!oxi_offsets_fit(offsets,ids->shape[0],has_end))return NULL;
oxi_work work=oxi_work_begin("embedding_bag");oxi_bags b;memset(&b,0,sizeof b);b.count=offsets?offsets->shape[0]-has_end:ids->shape[0];
ox_tensor*bag=oxi_bag_of(ids,offsets,ids->ndim==2?ids->shape[1]:0);b.ids=ox_flatten(ox_cast(ids,OX_I64),0,-1);
b.weights=weights?ox_flatten(weights,0,-1):NULL;b.bag=bag;if(has_end&&bag&&b.ids){int64_t end=ox_item_int(ox_select(offsets,0,-1));
b.ids=ox_narrow(b.ids,0,0,end);b.bag=ox_narrow(bag,0,0,end);if(b.weights)b.weights=ox_narrow(b.weights,0,0,end);}
return oxi_work_end(&work,oxi_bags_without(&b,padding)?oxi_bags_reduced(&b,table,how):NULL);}
static ox_tensor*oxi_histogram_cells(ox_tensor*x,ox_tensor*edges,ox_tensor**inside){int64_t cells=edges->shape[0]-1;
ox_tensor*at=ox_sub(ox_searchsorted(ox_contiguous(edges),ox_contiguous(x),true),ox_integer(1));
ox_tensor*last=ox_eq(x,ox_select(edges,0,cells));at=ox_where(last,ox_integer(cells-1),at);
ox_tensor*own=ox_logical_and(ox_ge_number(at,0),ox_lt_number(at,(double)cells));
*inside=*inside?ox_logical_and(*inside,own):own;return at;}
OX_API ox_tensor*ox_histogramdd(ox_tensor*x,ox_tensor*const*edges,int count,ox_tensor*weights,bool density){
if(oxi_any_null("histogramdd",&x,1)||count<1||oxi_any_null("histogramdd",edges,count))
return count<1&&x?OXI_FAIL_NULL(OX_ERR_ARG,"histogramdd: %d dims",count):NULL;
bool fits=x->ndim>=2&&x->shape[x->ndim-1]==count&&count<=OX_MAX_DIMS;ox_shape shape=oxi_no_shape();int64_t cells=1;
for(int d=0;d<count&&fits;d++){fits=edges[d]->ndim==1&&edges[d]->shape[0]>=2&&edges[d]->dtype==x->dtype&&
cells<=INT64_MAX/edges[d]->shape[0];
if(fits)cells*=shape.dim[shape.ndim++]=edges[d]->shape[0]-1;}
int64_t points=fits&&count?ox_numel(x)/count:0;if(!fits||(weights&&ox_numel(weights)!=points))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"histogramdd: %d dims of edges for %s",count,oxi_tensor_text(x));
oxi_work work=oxi_work_begin("histogramdd");ox_tensor*rows=ox_reshape(x,OX_SHAPE(points,count)),*place=NULL,*inside=NULL;
for(int d=0;d<count;d++){ox_tensor*at=oxi_histogram_cells(ox_select(rows,1,d),edges[d],&inside);
place=d?ox_add(ox_mul(place,ox_integer(shape.dim[d])),at):at;}
ox_tensor*each=weights?ox_reshape(ox_cast(weights,x->dtype),OX_SHAPE(points)):oxi_constant_beside(x,OX_SHAPE(points),1);
each=ox_where(inside,each,ox_number(0));ox_tensor*zeros=oxi_constant_beside(x,OX_SHAPE(cells),0);
ox_tensor*sums=ox_index_add(zeros,0,ox_where(inside,place,ox_integer(0)),each,1);sums=ox_reshape(sums,shape);
if(density)sums=ox_div(sums,ox_sum(sums,OX_ALL_DIMS,false));
for(int d=0;d<count&&density&&sums;d++){ox_shape along=shape;
for(int e=0;e<count;e++)
if(e!=d)along.dim[e]=1;
sums=ox_div(sums,ox_reshape(ox_diff(edges[d],1,0,NULL,NULL),along));}
return oxi_work_end(&work,sums);}
/* >>nn/tensors/in_place.c */
static ox_status oxi_leaf_becomes(const char*name,const oxi_tape*tape){if(tape->gradient)
return oxi_fail(OX_ERR_ARG,"%s: a leaf that has a gradient; ox_set_gradient(leaf, NULL) first",name);
if(oxi_atomic_load(&tape->counted.references)>1||tape->hooks)
return oxi_fail(OX_ERR_ARG,"%s: a leaf that has hooks or views, or that a recorded call needs",name);
return OX_OK;}
static void oxi_leaf_is(const ox_tensor*t,oxi_tape*tape){oxi_tape*parent=tape->parent;oxi_outline_of(t,&tape->outline);tape->parent=NULL;
tape->base=tape;if(parent)oxi_counted_drop(&parent->counted);}
static bool oxi_may_become(const char*name,ox_tensor*t){oxi_edge edge;if(oxi_any_null(name,&t,1))return false;
oxi_tape*tape=(oxi_tape*)t->tape;oxi_call call=oxi_call_of(OXI_OP_view,&t,1,t);call.name=name;ox_status status=OX_OK;if(t->is_number)
status=oxi_fail(OX_ERR_ARG,"%s: a number stays what it is",name);
else if(t->storage->inference&&!oxi_inference_mode)
status=oxi_fail(OX_ERR_ARG,"%s: an inference tensor is changed in place outside of inference mode",name);
else if(!oxi_grad_off)
status=oxi_check_written(&call,false);
else if(tape&&(status=oxi_tape_edge(tape,&edge))==OX_OK&&edge.leaf==tape)
status=oxi_leaf_becomes(name,tape);
else if(status==OX_OK&&tape&&oxi_edge_is(&edge))
status=oxi_fail(OX_ERR_ARG,"%s: a result that was recorded is changed while nothing is",name);
return status==OX_OK;}
static void oxi_take_tape(ox_tensor*t,oxi_tape*tape){oxi_tape*before=(oxi_tape*)t->tape;if(tape)oxi_counted_keep(&tape->counted);
t->tape=tape;if(before)oxi_counted_drop(&before->counted);}
static bool oxi_is_blank(oxi_tape*tape){return!tape->parent&&!tape->requires_grad&&!oxi_edge_is(&tape->made)&&
oxi_atomic_load(&tape->counted.references)==1;}
static ox_tensor*oxi_become(oxi_work*work,const char*name,ox_tensor*t,ox_tensor*view){oxi_tape*tape=(oxi_tape*)t->tape;if(view){
bool leaf=tape&&tape->requires_grad,view_before=tape&&tape->parent&&!tape->became;t->ndim=view->ndim;
memcpy(t->shape,view->shape,sizeof t->shape);memcpy(t->stride,view->stride,sizeof t->stride);t->offset=view->offset;if(leaf)
oxi_leaf_is(t,tape);
else
oxi_take_tape(t,(oxi_tape*)view->tape);
tape=(oxi_tape*)t->tape;if(tape&&tape->parent&&!oxi_edge_is(&tape->made)&&oxi_is_blank(tape->parent))
oxi_take_tape(t,NULL);
if(t->tape)((oxi_tape*)t->tape)->changed_by=name;
if(t->tape&&!view_before)((oxi_tape*)t->tape)->became=true;
oxi_atomic_add(&t->storage->version,1);}
(void)oxi_work_end(work,NULL);return view?t:NULL;}
#define OXI_VIEW_IN_PLACE(name,parameters, ...)\
OX_API ox_tensor*ox_##name##_ parameters{\
if(!oxi_may_become(#name "_",t))return NULL;\
oxi_work work=oxi_work_begin(#name "_");\
return oxi_become(&work,#name "_",t,(__VA_ARGS__));}
OXI_VIEW_IN_PLACE(transpose,(ox_tensor*t,int dim0,int dim1),ox_transpose(t,dim0,dim1))
OXI_VIEW_IN_PLACE(t,(ox_tensor*t),ox_t(t))
OXI_VIEW_IN_PLACE(squeeze,(ox_tensor*t,int dim),ox_squeeze(t,dim))
OXI_VIEW_IN_PLACE(squeeze_all,(ox_tensor*t),ox_squeeze_all(t))
OXI_VIEW_IN_PLACE(unsqueeze,(ox_tensor*t,int dim),ox_unsqueeze(t,dim))
OXI_VIEW_IN_PLACE(as_strided,(ox_tensor*t,ox_shape shape,ox_shape strides,int64_t offset),ox_as_strided(t,shape,strides,offset))
static ox_tensor*oxi_moved_to_more(ox_tensor*t,int64_t elements){
int64_t had=(int64_t)(t->storage->bytes/(size_t)oxi_info(t->dtype)->block_bytes);
ox_tensor*more=oxi_full("resize_",OX_SHAPE(elements),0,t->dtype,ox_device_of(t));if(!more||had==0)return more;
ox_tensor*all=ox_as_strided(t,OX_SHAPE(had),OX_SHAPE(1),0);return all&&ox_copy_(ox_narrow(more,0,0,had),all)?more:NULL;}
static ox_tensor*oxi_resize_to(ox_tensor*t,ox_shape shape,ox_tensor*meta,int64_t elements){oxi_work work=oxi_work_begin("resize_");
bool enabled=ox_set_grad_enabled(false);bool moves=(uint64_t)elements>t->storage->bytes/(uint64_t)oxi_info(t->dtype)->block_bytes;
ox_tensor*from=moves?oxi_moved_to_more(t,elements):t;ox_shape strides=shape;memcpy(strides.dim,meta->stride,sizeof strides.dim);
ox_tensor*view=from?ox_as_strided(from,shape,strides,t->offset):NULL;(void)ox_set_grad_enabled(enabled);if(view&&moves){
ox_storage*before=t->storage;oxi_storage_retain(from->storage);t->storage=from->storage;oxi_storage_release(before);
oxi_take_tape(t,NULL);}
return oxi_become(&work,"resize_",t,view);}
OX_API ox_tensor*ox_resize_(ox_tensor*t,ox_shape shape){ox_tensor meta;size_t bytes;int64_t elements;oxi_edge edge={NULL,0,NULL};
if(!oxi_may_become("resize_",t))return NULL;
if(t->tape&&oxi_tape_edge((oxi_tape*)t->tape,&edge)!=OX_OK)return NULL;
if(oxi_edge_is(&edge))return OXI_FAIL_NULL(OX_ERR_ARG,"resize_: a tensor that has a gradient");
if(oxi_is_block(t->dtype))
return OXI_FAIL_NULL(OX_ERR_DTYPE,"resize_: not defined for %s",oxi_tensor_text(t));
if(oxi_check_shape("resize_",t->dtype,shape.ndim,shape.dim,&bytes)!=OX_OK)return NULL;
bool same=shape.ndim==t->ndim;for(int d=0;same&&d<t->ndim;d++)same=shape.dim[d]==t->shape[d];
if(same)return t;
oxi_meta(&meta,t->dtype,shape.ndim,shape.dim);elements=ox_numel(&meta);if(elements>0&&!oxi_add_i64(elements,t->offset,&elements))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"resize_: %s to %s",oxi_tensor_text(t),oxi_shape_text(shape.ndim,shape.dim));
return oxi_resize_to(t,shape,&meta,elements);}
OX_API ox_tensor*ox_resize_as_(ox_tensor*t,const ox_tensor*like){
if(!like)return OXI_FAIL_NULL(OX_ERR_ARG,"resize_as_: NULL for the tensor that it is like");
return ox_resize_(t,ox_shape_of(like));}
OX_API ox_tensor*ox_detach_(ox_tensor*t){if(oxi_any_null("detach_",&t,1))return NULL;
const oxi_tape*tape=(const oxi_tape*)t->tape;if(tape&&tape->parent&&!tape->became)
return OXI_FAIL_NULL(OX_ERR_ARG,"detach_: %s is a view; ox_detach gives another one",oxi_tensor_text(t));
oxi_take_tape(t,NULL);return t;}
static ox_tensor*oxi_put_into(oxi_work*work,ox_tensor*t,ox_tensor*made){bool done=made&&ox_copy_(t,made);
(void)oxi_work_end(work,NULL);return done?t:NULL;}
OX_API ox_tensor*ox_index_put_(ox_tensor*t,ox_tensor*const*indices,int count,ox_tensor*values,bool accumulate){
ox_tensor*in[2]={t,values};if(oxi_any_null("index_put_",in,2))return NULL;
oxi_work work=oxi_work_begin("index_put_");return oxi_put_into(&work,t,ox_index_put(t,indices,count,values,accumulate));}
OX_API ox_tensor*ox_put_(ox_tensor*t,ox_tensor*index,ox_tensor*source,bool accumulate){ox_tensor*in[3]={t,index,source};
if(oxi_any_null("put_",in,3))return NULL;
oxi_work work=oxi_work_begin("put_");return oxi_put_into(&work,t,ox_put(t,index,source,accumulate));}
/* >>nn/tensors/made.c */
OX_API ox_tensor*ox_empty_strided(ox_shape shape,ox_shape strides,ox_dtype dtype){int64_t reach=1,step;size_t bytes;
dtype=oxi_default_dtype(dtype,ox_default_dtype());
if(oxi_check_shape("empty_strided",dtype,shape.ndim,shape.dim,&bytes)!=OX_OK)return NULL;
if(strides.ndim!=shape.ndim)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"empty_strided: %d strides for %s",strides.ndim,oxi_shape_text(shape.ndim,shape.dim));
for(int d=0;d<shape.ndim;d++){int64_t far=shape.dim[d]>0?shape.dim[d]-1:0;
if(strides.dim[d]<0||!oxi_mul_i64(far,strides.dim[d],&step)||!oxi_add_i64(reach,step,&reach))
return OXI_FAIL_NULL(OX_ERR_SHAPE,"empty_strided: %s with strides %s",oxi_shape_text(shape.ndim,shape.dim),
oxi_shape_text(strides.ndim,strides.dim));
if(shape.dim[d]==0)return ox_empty(shape,dtype);}
oxi_work work=oxi_work_begin("empty_strided");return oxi_work_end(&work,ox_as_strided(ox_empty(OX_SHAPE(reach),dtype),shape,strides,0));}
OX_API ox_tensor*ox_logspace(double start,double end,int64_t steps,double base,ox_dtype dtype){oxi_work work=oxi_work_begin("logspace");
dtype=oxi_default_dtype(dtype,ox_default_dtype());if(oxi_info(dtype)->cls==OX_CLASS_INT){start=trunc(start);
end=trunc(end);}
ox_tensor*powers=ox_rpow_number(ox_linspace(start,end,steps,OX_F64),base);return oxi_work_end(&work,ox_cast(powers,dtype));}
OX_API ox_dtype ox_result_type(ox_tensor*a,ox_tensor*b){ox_tensor*in[2]={a,b};const ox_tensor*refused=NULL;
if(oxi_any_null("result_type",in,2))return OX_DTYPE_NONE;
oxi_call call=oxi_call_of(OXI_OP_add,in,2,NULL);ox_dtype dtype=oxi_result_type(&call,0,&refused);if(dtype==OX_DTYPE_NONE)
(void)oxi_fail(OX_ERR_DTYPE,"result_type: %s and %s have none in common",oxi_tensor_text(a),oxi_tensor_text(b));
return dtype;}
OX_API bool ox_can_cast(ox_dtype from,ox_dtype to){ox_dtype_class a=oxi_info(from)->cls,b=oxi_info(to)->cls;
bool plain=a>=OX_CLASS_BOOL&&a<=OX_CLASS_COMPLEX&&b>=OX_CLASS_BOOL&&b<=OX_CLASS_COMPLEX;return plain&&a<=b;}
OX_API ox_tuple ox_aminmax(ox_tensor*x,int dim,bool keepdim){if(oxi_any_null("aminmax",&x,1))return oxi_no_tuple();
ox_shape dims=dim==OX_FLATTENED?OX_ALL_DIMS:OX_DIMS(dim);oxi_work work=oxi_work_begin("aminmax");
return oxi_tuple_end(&work,ox_amin(x,dims,keepdim),ox_amax(x,dims,keepdim),NULL);}
OX_API ox_tuple ox_var_mean(ox_tensor*x,ox_shape dims,double correction,bool keepdim){
if(oxi_any_null("var_mean",&x,1))return oxi_no_tuple();
oxi_work work=oxi_work_begin("var_mean");return oxi_tuple_end(&work,ox_var(x,dims,correction,keepdim),ox_mean(x,dims,keepdim),NULL);}
OX_API ox_tuple ox_std_mean(ox_tensor*x,ox_shape dims,double correction,bool keepdim){
if(oxi_any_null("std_mean",&x,1))return oxi_no_tuple();
oxi_work work=oxi_work_begin("std_mean");return oxi_tuple_end(&work,ox_std(x,dims,correction,keepdim),ox_mean(x,dims,keepdim),NULL);}
typedef struct oxi_segment_kind{const char*name;ox_reduction reduction;double nothing;}oxi_segment_kind;
static const oxi_segment_kind oxi_segment_kinds[]={{"sum",OX_REDUCTION_SUM,0},{"prod",OX_REDUCTION_PROD,1},
{"mean",OX_REDUCTION_MEAN,0},{"max",OX_REDUCTION_AMAX,-INFINITY},{"min",OX_REDUCTION_AMIN,INFINITY},};
static const oxi_segment_kind*oxi_segment_kind_of(const char*how){
for(size_t i=0;how&&i<sizeof oxi_segment_kinds/sizeof*oxi_segment_kinds;i++)
if(strcmp(oxi_segment_kinds[i].name,how)==0)return&oxi_segment_kinds[i];
(void)oxi_fail(OX_ERR_ARG,"segment_reduce: no reduction \"%s\"",how?how:"NULL");return NULL;}
static ox_tensor*oxi_segment_lengths(ox_tensor*lengths,ox_tensor*offsets,int64_t batch,int64_t n){
ox_tensor*given=ox_cast(lengths?lengths:offsets,OX_I64);int64_t size=given?given->shape[given->ndim-1]:0;if(!given||(offsets&&size<1))
return given?OXI_FAIL_NULL(OX_ERR_INDEX,"segment_reduce: no offsets"):NULL;
ox_tensor*rows=ox_reshape(given,OX_SHAPE(batch,size));bool begins=true;if(offsets&&rows){
begins=!ox_item_int(ox_any(ox_select(rows,1,0),OX_ALL_DIMS,false));rows=ox_sub(ox_narrow(rows,1,1,size-1),ox_narrow(rows,1,0,size-1));}
ox_tensor*sums=ox_sum(rows,OX_DIMS(1),false);ox_tensor*wrong=ox_ne(sums,ox_integer(n)),*below=ox_lt_number(rows,0);
if(!wrong||!below)return NULL;
if(begins&&!ox_item_int(ox_any(wrong,OX_ALL_DIMS,false))&&!ox_item_int(ox_any(below,OX_ALL_DIMS,false)))
return rows;
return OXI_FAIL_NULL(OX_ERR_INDEX,"segment_reduce: %s do not cover %lld positions",lengths?"lengths":"offsets",(long long)n);}
static ox_tensor*oxi_segments(ox_tensor*x,const oxi_segment_kind*kind,ox_tensor*lengths,double initial){
int64_t batch=x->shape[0],n=x->shape[1],runs=lengths->shape[1];ox_shape each=ox_shape_of(x);
bool starts=!isnan(initial),mean=kind->reduction==OX_REDUCTION_MEAN;each.dim[1]=runs;
ox_tensor*made=oxi_constant_beside(x,each,starts?initial:kind->nothing);if(made&&ox_numel(x)>0&&runs>0){
ox_tensor*ends=ox_contiguous(ox_cumsum(lengths,1));ox_tensor*places=ox_expand(oxi_ramp_beside(x,n,OX_I64),OX_SHAPE(batch,n));
ox_tensor*run=ox_unsqueeze(ox_searchsorted(ends,ox_contiguous(places),true),-1);ox_reduction how=mean?OX_REDUCTION_SUM:kind->reduction;
made=ox_scatter_reduce(made,1,ox_expand(run,ox_shape_of(x)),x,how,true);}
if(!mean||!made)return made;
ox_tensor*counts=ox_cast(ox_unsqueeze(lengths,-1),made->dtype);ox_tensor*means=ox_div(made,ox_clamp(counts,1,INFINITY));
return starts?means:ox_where(ox_eq_number(counts,0),ox_number(NAN),means);}
OX_API ox_tensor*ox_segment_reduce(ox_tensor*x,const char*how,ox_tensor*lengths,ox_tensor*offsets,int axis,double initial){
if(oxi_any_null("segment_reduce",&x,1))return NULL;
const oxi_segment_kind*kind=oxi_segment_kind_of(how);int at=kind?oxi_wrap_dim("segment_reduce",axis,x->ndim):-1;if(at<0)return NULL;
if(!lengths==!offsets)
return OXI_FAIL_NULL(OX_ERR_ARG,"segment_reduce: %s",lengths?"lengths and offsets":"neither lengths nor offsets");
ox_tensor*given=lengths?lengths:offsets;bool fits=x->ndim>at&&given->ndim==at+1&&oxi_is_float(x->dtype)&&oxi_is_int(given->dtype);
int64_t batch=1,rest=1;for(int d=0;d<x->ndim;d++){if(d<at)fits=fits&&given->shape[d]==x->shape[d];
if(d<at)batch*=x->shape[d];
if(d>at)rest*=x->shape[d];}
if(!fits)
return OXI_FAIL_NULL(OX_ERR_SHAPE,"segment_reduce: runs %s of %s along dim %d",oxi_tensor_text(given),oxi_tensor_text(x),at);
oxi_work work=oxi_work_begin("segment_reduce");ox_tensor*sizes=oxi_segment_lengths(lengths,offsets,batch,x->shape[at]);
ox_tensor*flat=sizes?ox_reshape(x,OX_SHAPE(batch,x->shape[at],rest)):NULL;ox_tensor*made=flat?oxi_segments(flat,kind,sizes,initial):NULL;
ox_shape shape=ox_shape_of(x);if(sizes)shape.dim[at]=sizes->shape[1];
return oxi_work_end(&work,made?ox_reshape(made,shape):NULL);}
static ox_tensor*oxi_xor_of_columns(ox_tensor*x){for(int64_t n=x?x->shape[1]:0;x&&n>1;n=x->shape[1]){
ox_tensor*both=ox_bitwise_xor(ox_narrow(x,1,0,n/2),ox_narrow(x,1,n/2,n/2));ox_tensor*parts[2]={both,n%2?ox_narrow(x,1,n-1,1):NULL};
x=both&&parts[1]?ox_cat(parts,2,1):both;}
return x;}
OX_API ox_tensor*ox_hash_tensor(ox_tensor*x,ox_shape dims,bool keepdim){ox_shape order=oxi_no_shape(),shape=oxi_no_shape();
uint32_t set=0;if(oxi_any_null("hash_tensor",&x,1)||!oxi_dim_set("hash_tensor",x,&dims,&set))return NULL;
if(oxi_is_block(x->dtype)||oxi_is_complex(x))
return OXI_FAIL_NULL(OX_ERR_DTYPE,"hash_tensor: not defined for %s",oxi_tensor_text(x));
if(dims.ndim==0)set=(1u<<x->ndim)-1;
int64_t rows=1,n=1;for(int d=0;d<x->ndim;d++){bool in=set>>d&1;
if(in)n*=x->shape[d];
if(!in)rows*=x->shape[d];
if(!in)order.dim[order.ndim++]=d;
if(!in||keepdim)shape.dim[shape.ndim++]=in?1:x->shape[d];}
for(int d=0;d<x->ndim;d++)
if(set>>d&1)order.dim[order.ndim++]=d;
oxi_work work=oxi_work_begin("hash_tensor");ox_tensor*wide=ox_cast(x,oxi_is_float(x->dtype)?OX_F64:OX_I64);
ox_tensor*bits=wide?ox_reshape(ox_permute(wide,order),OX_SHAPE(rows,n)):NULL;bits=bits?ox_view_dtype(ox_contiguous(bits),OX_I64):NULL;
if(n==0&&bits)bits=oxi_constant_beside(bits,OX_SHAPE(rows,1),0);
bits=bits?oxi_xor_of_columns(bits):NULL;return oxi_work_end(&work,bits?ox_reshape(ox_view_dtype(ox_contiguous(bits),OX_U64),shape):NULL);
}
/* >>nn/quantize/quantize.c */
typedef struct oxi_affine{ox_tensor*scale,*inverse,*zero;}oxi_affine;
static bool oxi_affine_of(const char*name,oxi_affine*a,double scale,int64_t zero_point,double least,double most){
if(!(scale>0&&scale<INFINITY)||(double)zero_point<least||(double)zero_point>most){
(void)oxi_fail(OX_ERR_ARG,"%s: scale %g, zero point %lld",name,scale,(long long)zero_point);return false;}
a->scale=ox_number((double)(float)scale);
a->inverse=ox_number((double)(1.0f/(float)scale));
a->zero=ox_number((double)zero_point);
return a->scale&&a->inverse&&a->zero;}
static bool oxi_affine_along(const char*name,oxi_affine*a,const ox_tensor*x,ox_tensor*scales,ox_tensor*zero_points,int axis){
int at=oxi_wrap_dim(name,axis,x->ndim);if(at<0)return false;
bool fits=x->ndim>0&&scales->ndim==1&&zero_points->ndim==1&&scales->shape[0]==x->shape[at]&&zero_points->shape[0]==x->shape[at];
if(!fits){(void)oxi_fail(OX_ERR_SHAPE,"%s: scales %s, zero points %s of dim %d of %s",name,
oxi_tensor_text(scales),oxi_tensor_text(zero_points),at,oxi_tensor_text(x));
return false;}
ox_shape shape=ox_shape_of(x);for(int d=0;d<shape.ndim;d++)shape.dim[d]=d==at?x->shape[at]:1;
a->scale=ox_reshape(ox_cast(ox_detach(scales),OX_F32),shape);a->zero=ox_reshape(ox_cast(ox_detach(zero_points),OX_F32),shape);
a->inverse=a->scale?ox_reciprocal(a->scale):NULL;return a->scale&&a->inverse&&a->zero;}
static bool oxi_can_quantize(const char*name,const ox_tensor*x){if(oxi_is_float(x->dtype))return true;
(void)oxi_fail(OX_ERR_DTYPE,"%s: not defined for %s",name,oxi_tensor_text(x));return false;}
static ox_tensor*oxi_affine_round(const oxi_affine*a,ox_tensor*x,bool wide){ox_tensor*steps=ox_round(ox_mul(oxi_wide(x),a->inverse));
return ox_add(wide&&steps?ox_cast(steps,OX_F64):steps,a->zero);}
static ox_tensor*oxi_affine_back(const oxi_affine*a,ox_tensor*q){return ox_mul(ox_sub(q,a->zero),a->scale);}
static bool oxi_quantized_range(const char*name,ox_dtype dtype,double*least,double*most){if(dtype!=OX_I8&&dtype!=OX_U8&&dtype!=OX_I32){
(void)oxi_fail(OX_ERR_DTYPE,"%s: to %s, not i8, u8 or i32",name,ox_dtype_name(dtype));return false;}
*least=oxi_integer_least(dtype);*most=oxi_integer_end(dtype)-1;return true;}
static ox_tensor*oxi_quantized(oxi_work*work,const oxi_affine*a,ox_tensor*x,ox_dtype dtype,double least,double most){
ox_tensor*q=oxi_affine_round(a,ox_detach(x),dtype==OX_I32);return oxi_work_end(work,q?ox_cast(ox_clamp(q,least,most),dtype):NULL);}
OX_API ox_tensor*ox_quantize_per_tensor(ox_tensor*x,double scale,int64_t zero_point,ox_dtype dtype){
const char*name="quantize_per_tensor";oxi_affine a;double least,most;
if(oxi_any_null(name,&x,1)||!oxi_can_quantize(name,x)||!oxi_quantized_range(name,dtype,&least,&most))
return NULL;
oxi_work work=oxi_work_begin(name);if(!oxi_affine_of(name,&a,scale,zero_point,least,most))return oxi_work_end(&work,NULL);
return oxi_quantized(&work,&a,x,dtype,least,most);}
OX_API ox_tensor*ox_quantize_per_channel(ox_tensor*x,ox_tensor*scales,ox_tensor*zero_points,int axis,ox_dtype dtype){
const char*name="quantize_per_channel";ox_tensor*in[3]={x,scales,zero_points};oxi_affine a;double least,most;
if(oxi_any_null(name,in,3)||!oxi_can_quantize(name,x)||!oxi_quantized_range(name,dtype,&least,&most))
return NULL;
oxi_work work=oxi_work_begin(name);if(!oxi_affine_along(name,&a,x,scales,zero_points,axis))return oxi_work_end(&work,NULL);
return oxi_quantized(&work,&a,x,dtype,least,most);}
OX_API ox_tensor*ox_dequantize(ox_tensor*q,double scale,int64_t zero_point){oxi_affine a;
if(oxi_any_null("dequantize",&q,1))return NULL;
if(!oxi_is_int(q->dtype))
return OXI_FAIL_NULL(OX_ERR_DTYPE,"dequantize: not defined for %s",oxi_tensor_text(q));
oxi_work work=oxi_work_begin("dequantize");if(!oxi_affine_of("dequantize",&a,scale,zero_point,-INFINITY,INFINITY))
return oxi_work_end(&work,NULL);
return oxi_work_end(&work,oxi_affine_back(&a,ox_cast(q,OX_F32)));}
OX_API ox_tensor*ox_dequantize_per_channel(ox_tensor*q,ox_tensor*scales,ox_tensor*zero_points,int axis){
ox_tensor*in[3]={q,scales,zero_points};oxi_affine a;if(oxi_any_null("dequantize_per_channel",in,3))return NULL;
if(!oxi_is_int(q->dtype))
return OXI_FAIL_NULL(OX_ERR_DTYPE,"dequantize_per_channel: not defined for %s",oxi_tensor_text(q));
oxi_work work=oxi_work_begin("dequantize_per_channel");if(!oxi_affine_along("dequantize_per_channel",&a,q,scales,zero_points,axis))
return oxi_work_end(&work,NULL);
return oxi_work_end(&work,oxi_affine_back(&a,ox_cast(q,OX_F32)));}
static ox_status oxi_fake_backward(const ox_function_context*c){ox_tensor*g=c->gradients[0];
c->input_gradients[0]=g?ox_where(c->saved[0],g,ox_number(0)):NULL;return g&&!c->input_gradients[0]?ox_error():OX_OK;}
static ox_tensor*oxi_fake_quantized(const oxi_affine*a,ox_tensor*x,int64_t least,int64_t most){
static const ox_function function={"fake_quantize",oxi_fake_backward,NULL};bool enabled=ox_set_grad_enabled(false);
ox_tensor*q=oxi_affine_round(a,x,false);ox_tensor*whole=ox_logical_and(ox_ge_number(q,(double)least),ox_le_number(q,(double)most));
ox_tensor*back=q?oxi_affine_back(a,ox_clamp(q,(double)least,(double)most)):NULL;
ox_tensor*made=back?ox_cast(back,x->dtype):NULL;(void)ox_set_grad_enabled(enabled);if(!made||!whole)return NULL;
ox_status status=ox_attach_function(&function,NULL,&x,1,&made,1,&whole,1);return status==OX_OK?made:NULL;}
static bool oxi_fake_range(const char*name,const ox_tensor*x,int64_t least,int64_t most){if(!oxi_can_quantize(name,x))return false;
if(least<=most)return true;
(void)oxi_fail(OX_ERR_ARG,"%s: from %lld to %lld",name,(long long)least,(long long)most);return false;}
OX_API ox_tensor*ox_fake_quantize_per_tensor_affine(ox_tensor*x,double scale,int64_t zero_point,int64_t least,int64_t most){
const char*name="fake_quantize_per_tensor_affine";oxi_affine a;
if(oxi_any_null(name,&x,1)||!oxi_fake_range(name,x,least,most))return NULL;
oxi_work work=oxi_work_begin(name);bool fits=oxi_affine_of(name,&a,scale,zero_point,(double)least,(double)most);
return oxi_work_end(&work,fits?oxi_fake_quantized(&a,x,least,most):NULL);}
OX_API ox_tensor*ox_fake_quantize_per_channel_affine(ox_tensor*x,ox_tensor*scales,ox_tensor*zero_points,
int axis,int64_t least,int64_t most){const char*name="fake_quantize_per_channel_affine";
ox_tensor*in[3]={x,scales,zero_points};oxi_affine a;if(oxi_any_null(name,in,3)||!oxi_fake_range(name,x,least,most))return NULL;
oxi_work work=oxi_work_begin(name);bool fits=oxi_affine_along(name,&a,x,scales,zero_points,axis);
return oxi_work_end(&work,fits?oxi_fake_quantized(&a,x,least,most):NULL);}
/* >>nn/optimizer_rules.c */
enum{OXI_OPTIONS_MOST=16,OXI_STATES_MOST=4};typedef enum oxi_option_range{OXI_ANY,OXI_NOT_NEGATIVE,OXI_BELOW_1,OXI_FLAG}oxi_option_range;
typedef struct oxi_optimizer_option{const char*name;double first;
oxi_option_range range;}oxi_optimizer_option;typedef struct oxi_optimizer_update{const double*options;
ox_tensor*parameter,*gradient;ox_tensor**state;int64_t step;}oxi_optimizer_update;typedef struct oxi_optimizer_row{const char*name;
const oxi_optimizer_option*options;const char*states[OXI_STATES_MOST];ox_status(*update)(const oxi_optimizer_update*u);
}oxi_optimizer_row;
#define OXI_OPTION_MEMBER(name,first,range)double name;
#define OXI_OPTION_ENTRY(name,first,range){#name,first,range},
static ox_status oxi_keep_state(ox_tensor**state,ox_tensor*t){if(!t)return ox_error();
ox_release(*state);*state=ox_retain(t);return OX_OK;}
static ox_tensor*oxi_state_of(const oxi_optimizer_update*u,int k){
if(!u->state[k]&&oxi_keep_state(&u->state[k],ox_zeros_like(u->parameter))!=OX_OK)return NULL;
return u->state[k];}
enum{OXI_STEP_TEXT=200};typedef struct oxi_update{char text[OXI_STEP_TEXT];double numbers[OXI_CHAIN_NUMBERS];
ox_tensor*in[OXI_CHAIN_OPERANDS],*out[OXI_MAX_OUT];int in_count,number_count,out_count;}oxi_update;
static void oxi_update_say(oxi_update*step,const char*words,const double*numbers){size_t used=strlen(step->text);
for(;*words&&used+8<sizeof step->text;words++){if(*words!='#'){step->text[used++]=*words;
continue;}
step->numbers[step->number_count]=*numbers++;used+=(size_t)snprintf(step->text+used,sizeof step->text-used,"n%d",step->number_count++);}
step->text[used]=0;}
static void oxi_update_say_1(oxi_update*step,const char*words,double number){oxi_update_say(step,words,&number);}
static void oxi_update_begin(oxi_update*step,const oxi_optimizer_update*u,double maximize,double weight_decay){
memset(step,0,sizeof*step);step->in[step->in_count++]=u->parameter;step->in[step->in_count++]=u->gradient;
oxi_update_say(step,maximize!=0?"b neg ":"b ",NULL);if(weight_decay!=0)oxi_update_say_1(step,"a # * + ",weight_decay);
oxi_update_say(step,"=p drop ",NULL);}
static bool oxi_update_changes(oxi_update*step,ox_tensor*t){step->in[step->in_count++]=t;step->out[step->out_count++]=t;return t!=NULL;}
static ox_status oxi_update_run(oxi_update*step,ox_tensor*parameter){step->out[step->out_count++]=parameter;
return oxi_chain_run(step->text,step->in,step->in_count,step->numbers,step->number_count,step->out);}
#define OXI_SGD_OPTIONS(X)\
X(lr,1e-3,OXI_NOT_NEGATIVE)\
X(momentum,0,OXI_NOT_NEGATIVE)\
X(dampening,0,OXI_ANY)\
X(weight_decay,0,OXI_NOT_NEGATIVE)\
X(nesterov,0,OXI_FLAG)\
X(maximize,0,OXI_FLAG)
typedef struct oxi_sgd_options{OXI_SGD_OPTIONS(OXI_OPTION_MEMBER)}oxi_sgd_options;
static const oxi_optimizer_option oxi_sgd_option_list[]={OXI_SGD_OPTIONS(OXI_OPTION_ENTRY){NULL,0,OXI_ANY}};
static ox_status oxi_update_sgd(const oxi_optimizer_update*u){oxi_sgd_options o;memcpy(&o,u->options,sizeof o);
if(o.nesterov!=0&&(o.momentum==0||o.dampening!=0))
return oxi_fail(OX_ERR_ARG,"sgd: nesterov wants a momentum and no dampening; they are %g and %g",o.momentum,o.dampening);
const bool begun=u->state[0]!=NULL;const double kept[]={o.momentum,begun?1 -o.dampening:1},ahead[]={o.momentum,-o.lr};
oxi_update step;oxi_update_begin(&step,u,o.maximize,o.weight_decay);if(o.momentum!=0){
if(!oxi_update_changes(&step,oxi_state_of(u,0)))return ox_error();
oxi_update_say(&step,"c # * p # * + =q ; ",kept);}
if(o.momentum==0)oxi_update_say_1(&step,"a p # * + ;",-o.lr);
else if(o.nesterov==0)oxi_update_say_1(&step,"a q # * + ;",-o.lr);
else oxi_update_say(&step,"a p q # * + # * + ;",ahead);
return oxi_update_run(&step,u->parameter);}
#define OXI_ADAM_OPTIONS(X,decay,decoupled)\
X(lr,1e-3,OXI_NOT_NEGATIVE)\
X(beta1,0.9,OXI_BELOW_1)\
X(beta2,0.999,OXI_BELOW_1)\
X(eps,1e-8,OXI_NOT_NEGATIVE)\
X(weight_decay,decay,OXI_NOT_NEGATIVE)\
X(amsgrad,0,OXI_FLAG)\
X(maximize,0,OXI_FLAG)\
X(decoupled_weight_decay,decoupled,OXI_FLAG)
typedef struct oxi_adam_options{OXI_ADAM_OPTIONS(OXI_OPTION_MEMBER,0,0)}oxi_adam_options;
static const oxi_optimizer_option oxi_adam_option_list[]={OXI_ADAM_OPTIONS(OXI_OPTION_ENTRY,0,0){NULL,0,OXI_ANY}};
static const oxi_optimizer_option oxi_adamw_option_list[]={OXI_ADAM_OPTIONS(OXI_OPTION_ENTRY,0.01,1){NULL,0,OXI_ANY}};
static ox_status oxi_update_adam(const oxi_optimizer_update*u){oxi_adam_options o;memcpy(&o,u->options,sizeof o);
const bool decoupled=o.decoupled_weight_decay!=0;const double correction1=1 -pow(o.beta1,(double)u->step);
const double correction2=1 -pow(o.beta2,(double)u->step);
const double squares[]={o.beta2,1 -o.beta2},end[]={-o.lr/correction1,sqrt(correction2),o.eps};
oxi_update step;oxi_update_begin(&step,u,o.maximize,decoupled?0:o.weight_decay);
if(!oxi_update_changes(&step,oxi_state_of(u,0))||!oxi_update_changes(&step,oxi_state_of(u,1)))
return ox_error();
oxi_update_say_1(&step,"c p # lerp =q ; ",1 -o.beta1);oxi_update_say(&step,"d # * # p * p * + =r ; ",squares);if(o.amsgrad!=0){
if(!oxi_update_changes(&step,oxi_state_of(u,2)))return ox_error();
oxi_update_say(&step,"e r maximum =r ; ",NULL);}
oxi_update_say(&step,"a ",NULL);if(decoupled&&o.weight_decay!=0)oxi_update_say_1(&step,"# * ",1 -o.lr*o.weight_decay);
oxi_update_say(&step,"q # * r sqrt # / # + / + ;",end);return oxi_update_run(&step,u->parameter);}
static const oxi_optimizer_row oxi_optimizer_rows[]={{"sgd",oxi_sgd_option_list,{"momentum_buffer",NULL,NULL,NULL},oxi_update_sgd},
{"adam",oxi_adam_option_list,{"exp_avg","exp_avg_sq","max_exp_avg_sq",NULL},oxi_update_adam},
{"adamw",oxi_adamw_option_list,{"exp_avg","exp_avg_sq","max_exp_avg_sq",NULL},oxi_update_adam},};
static const oxi_optimizer_row*oxi_optimizer_row_of(int rule){int count=(int)(sizeof oxi_optimizer_rows/sizeof*oxi_optimizer_rows);
return rule>0&&rule<=count?&oxi_optimizer_rows[rule-1]:NULL;}
/* >>nn/optimizers.c */
typedef struct oxi_optimized{ox_tensor*tensor;ox_tensor*state[OXI_STATES_MOST];int64_t steps;int group;}oxi_optimized;
typedef struct oxi_optimizer_group{double options[OXI_OPTIONS_MOST];}oxi_optimizer_group;
struct ox_optimizer{const oxi_optimizer_row*row;oxi_optimized*parameters;oxi_optimizer_group*groups;size_t parameter_room,group_room;
int64_t parameter_count;int group_count;};static oxi_optimized*oxi_find_optimized(const ox_optimizer*o,const ox_tensor*t){
for(int64_t i=0;i<o->parameter_count;i++)
if(o->parameters[i].tensor==t)return&o->parameters[i];
return NULL;}
static oxi_optimized*oxi_optimized_of(const ox_optimizer*o,const ox_tensor*t){oxi_optimized*p=o&&t?oxi_find_optimized(o,t):NULL;if(!p)
(void)oxi_fail(OX_ERR_ARG,"optimizer: %s is none of its parameters",t?oxi_tensor_text(t):"NULL");
return p;}
static ox_status oxi_check_parameter(const ox_optimizer*o,ox_tensor*t){const char*name=o->row->name;
if(oxi_any_null(name,&t,1))return ox_error();
if(!oxi_has_gradients(t->dtype))
return oxi_fail(OX_ERR_DTYPE,"%s: the parameter %s",name,oxi_tensor_text(t));
if(!ox_is_leaf(t))
return oxi_fail(OX_ERR_ARG,"%s: %s is a result, not a parameter",name,oxi_tensor_text(t));
if(oxi_find_optimized(o,t))
return oxi_fail(OX_ERR_ARG,"%s: the parameter %s is there twice",name,oxi_tensor_text(t));
return OX_OK;}
static ox_status oxi_add_parameters(ox_optimizer*o,ox_tensor*const*list,int count,int group){if(count<0||(count>0&&!list))
return oxi_fail(OX_ERR_ARG,"%s: %d parameters",o->row->name,count);
int64_t before=o->parameter_count;void*parameters=oxi_grow(o->parameters,&o->parameter_room,(size_t)before+(size_t)count,
sizeof*o->parameters,false);
ox_status status=parameters||count==0?OX_OK:OX_ERR_NOMEM;if(parameters)o->parameters=(oxi_optimized*)parameters;
for(int i=0;i<count&&status==OX_OK;i++){status=oxi_check_parameter(o,list[i]);
if(status!=OX_OK)break;
oxi_optimized*p=&o->parameters[o->parameter_count++];memset(p,0,sizeof*p);p->tensor=ox_retain(list[i]);p->group=group;}
while(status!=OX_OK&&o->parameter_count>before)
ox_release(o->parameters[--o->parameter_count].tensor);
return status;}
static void oxi_forget_state(oxi_optimized*p){for(int k=0;k<OXI_STATES_MOST;k++){ox_release(p->state[k]);
p->state[k]=NULL;}}
OX_API void ox_optimizer_close(ox_optimizer*optimizer){if(!optimizer)return;
for(int64_t i=0;i<optimizer->parameter_count;i++){oxi_forget_state(&optimizer->parameters[i]);
ox_release(optimizer->parameters[i].tensor);}
oxi_free(optimizer->parameters,optimizer->parameter_room*sizeof*optimizer->parameters);
oxi_free(optimizer->groups,optimizer->group_room*sizeof*optimizer->groups);oxi_free(optimizer,sizeof*optimizer);}
OX_API int ox_optimizer_add_group(ox_optimizer*optimizer,ox_tensor*const*parameters,int count){if(!optimizer){
(void)oxi_fail(OX_ERR_ARG,"optimizer_add_group: the optimizer is NULL");return-1;}
int group=optimizer->group_count;void*groups=oxi_grow(optimizer->groups,&optimizer->group_room,(size_t)group+1,
sizeof*optimizer->groups,false);
if(!groups)return-1;
optimizer->groups=(oxi_optimizer_group*)groups;if(oxi_add_parameters(optimizer,parameters,count,group)!=OX_OK)return-1;
oxi_optimizer_group*made=&optimizer->groups[optimizer->group_count++];memset(made,0,sizeof*made);if(group>0)
*made=optimizer->groups[0];
else
for(int i=0;optimizer->row->options[i].name;i++)
made->options[i]=optimizer->row->options[i].first;
return group;}
OX_API ox_optimizer*ox_optimizer_open(ox_optimizer_rule rule,ox_tensor*const*parameters,int count){
const oxi_optimizer_row*row=oxi_optimizer_row_of((int)rule);if(!row){(void)oxi_fail(OX_ERR_ARG,"optimizer_open: no rule %d",(int)rule);
return NULL;}
ox_optimizer*o=(ox_optimizer*)oxi_calloc(1,sizeof*o);if(!o)return NULL;
o->row=row;if(ox_optimizer_add_group(o,parameters,count)==0)return o;
ox_optimizer_close(o);return NULL;}
OX_API int ox_optimizer_groups(const ox_optimizer*optimizer){return optimizer?optimizer->group_count:0;}
static int oxi_optimizer_option_of(const ox_optimizer*o,int group,bool all,const char*option){if(!o||!option){
(void)oxi_fail(OX_ERR_ARG,"optimizer: %s is NULL",o?"the option":"the optimizer");return-1;}
if((group<0||group>=o->group_count)&&!(all&&group==OX_ALL_GROUPS)){
(void)oxi_fail(OX_ERR_ARG,"%s: no group %d of %d",o->row->name,group,o->group_count);return-1;}
for(int i=0;o->row->options[i].name;i++)
if(strcmp(o->row->options[i].name,option)==0)return i;
(void)oxi_fail(OX_ERR_ARG,"%s: no option \"%.40s\"",o->row->name,option);return-1;}
static bool oxi_is_in_option_range(oxi_option_range range,double value){switch(range){case OXI_NOT_NEGATIVE:return value>=0;
case OXI_BELOW_1:return value>=0&&value<1;case OXI_FLAG:return value==0||value==1;default:return value==value;}}
OX_API ox_status ox_optimizer_set(ox_optimizer*optimizer,int group,const char*option,double value){
int at=oxi_optimizer_option_of(optimizer,group,true,option);if(at<0)return ox_error();
if(!oxi_is_in_option_range(optimizer->row->options[at].range,value))
return oxi_fail(OX_ERR_ARG,"%s: %s cannot be %g",optimizer->row->name,option,value);
for(int i=0;i<optimizer->group_count;i++)
if(group==OX_ALL_GROUPS||group==i)optimizer->groups[i].options[at]=value;
return OX_OK;}
OX_API double ox_optimizer_get(const ox_optimizer*optimizer,int group,const char*option){
int at=oxi_optimizer_option_of(optimizer,group,false,option);return at<0?NAN:optimizer->groups[group].options[at];}
static ox_tensor*oxi_real_numbers(ox_tensor*t){return t->dtype==OX_C64?ox_view_as_real(t):t;}
static ox_status oxi_step_parameter(const ox_optimizer*o,oxi_optimized*p){oxi_optimizer_update u;ox_tensor*g=ox_gradient(p->tensor);
if(!g)return OX_OK;
ox_scope scope=ox_scope_begin();u.options=o->groups[p->group].options;u.parameter=oxi_real_numbers(p->tensor);
u.gradient=oxi_real_numbers(g);u.state=p->state;u.step=p->steps+1;ox_status status=u.parameter&&u.gradient?o->row->update(&u):ox_error();
ox_scope_end(&scope);if(status==OX_OK)p->steps++;
return status;}
OX_API ox_status ox_optimizer_step(ox_optimizer*optimizer){
if(!optimizer)return oxi_fail(OX_ERR_ARG,"optimizer_step: the optimizer is NULL");
ox_status status=OX_OK;bool enabled=ox_set_grad_enabled(false);for(int64_t i=0;i<optimizer->parameter_count&&status==OX_OK;i++)
status=oxi_step_parameter(optimizer,&optimizer->parameters[i]);
(void)ox_set_grad_enabled(enabled);return status;}
OX_API void ox_optimizer_zero_grad(ox_optimizer*optimizer){for(int64_t i=0;optimizer&&i<optimizer->parameter_count;i++)
(void)ox_set_gradient(optimizer->parameters[i].tensor,NULL);}
static ox_tensor**oxi_state_named(ox_optimizer*o,const ox_tensor*parameter,const char*name){
oxi_optimized*p=oxi_optimized_of(o,parameter);for(int k=0;p&&name&&k<OXI_STATES_MOST&&o->row->states[k];k++)
if(strcmp(o->row->states[k],name)==0)return&p->state[k];
if(p)(void)oxi_fail(OX_ERR_ARG,"%s: nothing is kept as \"%.40s\"",o->row->name,name?name:"NULL");
return NULL;}
OX_API ox_tensor*ox_optimizer_state(ox_optimizer*optimizer,const ox_tensor*parameter,const char*name){
ox_tensor**state=oxi_state_named(optimizer,parameter,name);return state?*state:NULL;}
OX_API ox_status ox_optimizer_set_state(ox_optimizer*optimizer,const ox_tensor*parameter,const char*name,ox_tensor*value){
ox_tensor**state=oxi_state_named(optimizer,parameter,name);if(!state)return ox_error();
if(!value){ox_release(*state);
*state=NULL;return OX_OK;}
bool enabled=ox_set_grad_enabled(false);ox_scope scope=ox_scope_begin();
ox_tensor*like=ox_empty_like(oxi_optimized_of(optimizer,parameter)->tensor);like=like?oxi_real_numbers(like):NULL;
bool fits=like&&value->ndim==like->ndim;for(int d=0;fits&&d<like->ndim;d++)fits=value->shape[d]==like->shape[d];
ox_status status=!like?ox_error():OX_OK;if(like&&!fits)
status=oxi_fail(OX_ERR_SHAPE,"%s: %s is %s, not %s",optimizer->row->name,name,oxi_tensor_text(like),oxi_tensor_text(value));
if(status==OX_OK)status=oxi_keep_state(state,ox_copy_(like,value));
ox_scope_end(&scope);(void)ox_set_grad_enabled(enabled);return status;}
OX_API int64_t ox_optimizer_steps(const ox_optimizer*optimizer,const ox_tensor*parameter){
const oxi_optimized*p=oxi_optimized_of(optimizer,parameter);return p?p->steps:-1;}
OX_API ox_status ox_optimizer_set_steps(ox_optimizer*optimizer,const ox_tensor*parameter,int64_t steps){
oxi_optimized*p=oxi_optimized_of(optimizer,parameter);if(!p)return ox_error();
if(steps<0)return oxi_fail(OX_ERR_ARG,"%s: %lld steps",optimizer->row->name,(long long)steps);
p->steps=steps;return OX_OK;}
static ox_tensor*oxi_norm_of_gradients(ox_tensor*const*parameters,int count,double p){ox_tensor*first=NULL,**norms;
size_t room=0;int found=0;norms=(ox_tensor**)oxi_grow(NULL,&room,(size_t)count+1,sizeof*norms,true);if(!norms)return NULL;
for(int i=0;i<count;i++){ox_tensor*g=ox_gradient(parameters[i]);
if(!g)continue;
if(!first)first=g;
ox_tensor*norm=ox_norm(oxi_real_numbers(g),p,OX_ALL_DIMS,false);norm=norm&&norm->dtype!=OX_F64?ox_cast(norm,OX_F32):norm;
if(norm&&ox_device_of(norm)!=ox_device_of(first))norm=ox_to(norm,ox_device_of(first));
norms[found++]=norm;}
for(int i=1;i<found;i++)
if(norms[i]&&norms[0]&&norms[i]->dtype!=norms[0]->dtype)
norms[i]=ox_cast(norms[i],norms[0]->dtype);
ox_tensor*norm=found?ox_norm(ox_stack(norms,found,0),p,OX_ALL_DIMS,false):ox_zeros(OX_SCALAR_SHAPE,OX_F32);
oxi_free(norms,room*sizeof*norms);return norm;}
OX_API ox_tensor*ox_clip_grad_norm_(ox_tensor*const*parameters,int count,double most,double p){
if(count<0||oxi_any_null("clip_grad_norm_",parameters,count))return NULL;
bool enabled=ox_set_grad_enabled(false);oxi_work work=oxi_work_begin("clip_grad_norm_");
ox_tensor*norm=oxi_norm_of_gradients(parameters,count,p),*factor=NULL;
if(norm)factor=ox_clamp(ox_mul_number(ox_reciprocal(ox_add_number(norm,1e-6)),most),-INFINITY,1);
for(int i=0;i<count&&factor;i++){ox_tensor*g=ox_gradient(parameters[i]),*here=factor;
if(!g)continue;
if(ox_device_of(g)!=ox_device_of(factor))here=ox_to(factor,ox_device_of(g));
if(!ox_mul_(oxi_real_numbers(g),here))factor=NULL;}
norm=oxi_work_end(&work,factor?norm:NULL);(void)ox_set_grad_enabled(enabled);return norm;}
OX_API ox_status ox_clip_grad_value_(ox_tensor*const*parameters,int count,double most){
if(count<0||oxi_any_null("clip_grad_value_",parameters,count))return ox_error();
if(!(most>=0))return oxi_fail(OX_ERR_ARG,"clip_grad_value_: %g is below 0",most);
ox_status status=OX_OK;bool enabled=ox_set_grad_enabled(false);oxi_work work=oxi_work_begin("clip_grad_value_");
for(int i=0;i<count&&status==OX_OK;i++){ox_tensor*g=ox_gradient(parameters[i]);
if(g&&!ox_clamp_(oxi_real_numbers(g),-most,most))status=ox_error();}
(void)oxi_work_end(&work,NULL);(void)ox_set_grad_enabled(enabled);return status;}
#endif
#elif OXI_SECTION_OF_OX_TORCH_NN_FILE != 0xdb2f14f0
#error "OX_TORCH_NN_FILE names another version of oxtorch_nn.h"
#elif OXI_SECTION == 1 /* >>autograd/back/kernels.inc */
#define OXI_WRITE(n,out,streams,OF)OXI_WRITE_AHEAD(n,out,streams,OF,OXI_NOTHING_AHEAD)
#define OXI_NOTHING_AHEAD(i)
#define OXI_WRITE_AHEAD(n,out,streams,OF,AHEAD){\
const int64_t skewed=(int64_t)((uintptr_t)(out)/sizeof(float)%VF);\
int64_t i=0,head=(streams)&&skewed?VF-skewed:0,left;\
if(head>(n))head=(n);\
left=head;\
if(head)vf_store_n(out,OF(OXI_LOAD_LEFT,0),left);\
for(i=head;(streams)&&i+VF<=(n);i+=VF){\
AHEAD(i)\
vf_stream((out)+i,OF(vf_load,i));}\
for(;i+VF<=(n);i+=VF)vf_store((out)+i,OF(vf_load,i));\
left=(n)-i;\
if(left)vf_store_n((out)+i,OF(OXI_LOAD_LEFT,i),left);}
#define OXI_LOAD_LEFT(p)vf_load_n(p,left)
#define OXI_NEXT_ROW(r,n,i){\
if(VF==16||(i)%16==0){\
OXI_PREFETCH_READ((r)+(n)+(i));\
OXI_PREFETCH_FAR((r)+2*(n)+(i));}}
/* >>autograd/back/pick.inc */
#define vf_pick OXI_ISA(vf_pick)
#if VF == 16
#define OXI_PICKS 32
OXI_INLINE vf vf_pick(const vf*t,vf s){return _mm512_permutex2var_ps(t[0],vf_as_vi(s),t[1]);}
#elif VF == 8 && OXI_ISA(FMA)
#define OXI_PICKS 8
OXI_INLINE vf vf_pick(const vf*t,vf s){return _mm256_permutevar8x32_ps(*t,vf_as_vi(s));}
#elif VF == 8
#define OXI_PICKS 8
OXI_INLINE vf vf_pick(const vf*t,vf s){const __m128*half=(const __m128*)t;
vf low=_mm256_permutevar_ps(_mm256_broadcast_ps(half),_mm256_castps_si256(s));
vf high=_mm256_permutevar_ps(_mm256_broadcast_ps(half+1),_mm256_castps_si256(s));
return vf_select(vf_lt(s,vf_constant(12582916.0f)),low,high);}
#elif VF == 4 && OXI_ISA(FMA)
#define OXI_PICKS 8
OXI_INLINE vf vf_pick(const vf*t,vf s){uint8x16x2_t table={{vreinterpretq_u8_f32(t[0]),vreinterpretq_u8_f32(t[1])}};
uint32x4_t at=vandq_u32(vreinterpretq_u32_f32(s),vdupq_n_u32(7));at=vmlaq_u32(vdupq_n_u32(0x3020100),at,vdupq_n_u32(0x4040404));
return vreinterpretq_f32_u8(vqtbl2q_u8(table,vreinterpretq_u8_u32(at)));}
#elif VF == 4
#define OXI_PICKS 32
OXI_INLINE vf vf_pick(const vf*table,vf s){const float*t=(const float*)table;
int32_t at[4];vi_store(at,vf_as_vi(s));return _mm_setr_ps(t[at[0]&31],t[at[1]&31],t[at[2]&31],t[at[3]&31]);}
#else
#define OXI_PICKS 32
OXI_INLINE vf vf_pick(const vf*t,vf s){return t[vf_as_vi(s)&31];}
#endif
OXI_INLINE vf OXI_ISA(gate_back)(vf g,vf x,vf q){return vf_mul(g,vf_select(vf_lt(x,vf_zero()),q,vf_sub(vf_constant(1.0f),q)));}
OXI_INLINE vf OXI_ISA(silu_back_of)(vf g,vf x){vf a=vf_min(vf_constant(87.0f),vf_abs(x)),d=vf_fma(x,vf_zero(),vf_constant(1.0f));
vi n=vf_to_vi(vf_mul(a,vf_constant(1.44269504f)));vf r=vf_fnma(a,vf_constant(1.44269504f),vi_to_vf(n)),r2=vf_mul(r,r);
vf e=vf_fma(vf_constant(1.32764758e-3f),r,vf_constant(9.67554154e-3f));
e=vf_fma(e,r2,vf_fma(vf_constant(5.55071327e-2f),r,vf_constant(0.240221197f)));
e=vf_fma(e,r2,vf_fma(vf_constant(0.693146967f),r,vf_constant(1.0f)));e=vi_as_vf(vi_sub(vf_as_vi(e),vi_sll(n,23)));d=vf_add(d,e);
return OXI_ISA(gate_back)(g,x,vf_div(vf_mul(e,vf_sub(d,a)),vf_mul(d,d)));}
#define OXI_GELU_STEP (OXI_PICKS==8?0.9375f:0.203125f)
#define OXI_GELU_DEGREE (OXI_PICKS==8?8:4)
#define OXI_GELU_PICK(k)vf_pick(t +(k)*OXI_PICKS/VF,s)
#define OXI_GELU_PAIR(k)q =vf_fma(q,e,vf_fma(OXI_GELU_PICK(k+1),d,OXI_GELU_PICK(k)));
OXI_INLINE vf OXI_ISA(gelu_back_of)(vf g,vf x,const vf*t){
const vf whole=vf_constant(12582912.0f),last=vf_constant(12582911.0f +OXI_PICKS);
vf a=vf_abs(x),s=vf_min(vf_fma(a,vf_constant(1/OXI_GELU_STEP),whole),last);
vf d=vf_fnma(vf_sub(s,whole),vf_constant(OXI_GELU_STEP),a),e=vf_min(vf_constant(1.0f),d);e=vf_mul(e,e);
vf q=OXI_GELU_PICK(OXI_GELU_DEGREE);if(OXI_GELU_DEGREE==8){OXI_GELU_PAIR(6)
OXI_GELU_PAIR(4)}
OXI_GELU_PAIR(2)
OXI_GELU_PAIR(0)
return OXI_ISA(gate_back)(g,x,q);}
#define OXI_GELU_LOAD(k)t[k] =vf_load(table+(k)*VF);
OXI_KERNEL void OXI_ISA(gelu_back)(int64_t n,const float*g,const float*x,float*out,bool streams,const float*table){
#if VF < 8
const vf*t=(const vf*)(const void*)table;
#else
vf t[10];
OXI_GELU_LOAD(0)OXI_GELU_LOAD(1)OXI_GELU_LOAD(2)OXI_GELU_LOAD(3)OXI_GELU_LOAD(4)
OXI_GELU_LOAD(5)OXI_GELU_LOAD(6)OXI_GELU_LOAD(7)OXI_GELU_LOAD(8)OXI_GELU_LOAD(9)
#endif
#define OXI_GELU_BACK(load,i)OXI_ISA(gelu_back_of)(load(g +i),load(x+i),t)
OXI_WRITE(n,out,streams,OXI_GELU_BACK)
#undef OXI_GELU_BACK
}
#undef OXI_GELU_PICK
#undef OXI_GELU_PAIR
#undef OXI_GELU_LOAD
OXI_KERNEL void OXI_ISA(silu_back)(int64_t n,const float*g,const float*x,float*out,bool streams,const float*table){(void)table;
#define OXI_SILU_BACK(load,i)OXI_ISA(silu_back_of)(load(g +i),load(x+i))
OXI_WRITE(n,out,streams,OXI_SILU_BACK)
#undef OXI_SILU_BACK
}
#define OXI_SOFTMAX_AHEAD(i)OXI_NEXT_ROW(g,n,i)OXI_NEXT_ROW(y,n,i)
OXI_KERNEL void OXI_ISA(softmax_back)(int64_t n,const float*g,const float*y,float along,float*out,bool streams){
const vf d=vf_set1(along);
#define OXI_SOFTMAX_BACK(load,i)vf_mul(vf_sub(load(g +i),d),load(y+i))
OXI_WRITE_AHEAD(n,out,streams,OXI_SOFTMAX_BACK,OXI_SOFTMAX_AHEAD)}
OXI_KERNEL float OXI_ISA(softmax_back_next)(int64_t n,const float*g,const float*y,float along,
float*out,const float*next_g,const float*next_y){const vf d=vf_set1(along);
const int64_t ahead=OXI_PREFETCH_AHEAD/(int64_t)sizeof(float),far=4*ahead;
const int64_t skewed=(int64_t)((uintptr_t)out/sizeof(float)%VF);vf s[4]={vf_zero(),vf_zero(),vf_zero(),vf_zero()};
int64_t at=skewed?VF-skewed:0,i=0,left;if(at>n)at=n;
left=at;if(left)vf_store_n(out,OXI_SOFTMAX_BACK(OXI_LOAD_LEFT,0),left);
#define OXI_SOFTMAX_STEP(k)\
s[k]=vf_fma(vf_load(next_g+i+k*VF),vf_load(next_y+i+k*VF),s[k]);\
if(at+VF<=n){\
vf_stream(out+at,OXI_SOFTMAX_BACK(vf_load,at));\
at+=VF;}
for(;i+4*VF<=n;i+=4*VF){for(int line=0;line<4*VF;line+=16){OXI_PREFETCH_READ(next_g+i+line+ahead);
OXI_PREFETCH_READ(next_y+i+line+ahead);OXI_PREFETCH_FAR(next_g+i+line+far);OXI_PREFETCH_FAR(next_y+i+line+far);}
OXI_SOFTMAX_STEP(0)OXI_SOFTMAX_STEP(1)OXI_SOFTMAX_STEP(2)OXI_SOFTMAX_STEP(3)}
#undef OXI_SOFTMAX_STEP
for(;i+VF<=n;i+=VF)s[0]=vf_fma(vf_load(next_g+i),vf_load(next_y+i),s[0]);
left=n-i;if(left)s[1]=vf_fma(OXI_LOAD_LEFT(next_g+i),OXI_LOAD_LEFT(next_y+i),s[1]);
for(;at+VF<=n;at+=VF)vf_stream(out+at,OXI_SOFTMAX_BACK(vf_load,at));
left=n-at;if(left)vf_store_n(out+at,OXI_SOFTMAX_BACK(OXI_LOAD_LEFT,at),left);
return vf_hsum(vf_add(vf_add(s[0],s[1]),vf_add(s[2],s[3])));}
#undef OXI_SOFTMAX_BACK
OXI_KERNEL void OXI_ISA(log_softmax_back)(int64_t n,const float*g,const float*y,float along,float*out,bool streams){
const vf sum=vf_set1(along);
#define OXI_LOG_SOFTMAX_BACK(load,i)vf_fnma(vf_exp(load(y +i)),sum,load(g+i))
OXI_WRITE_AHEAD(n,out,streams,OXI_LOG_SOFTMAX_BACK,OXI_SOFTMAX_AHEAD)
#undef OXI_LOG_SOFTMAX_BACK
}
#undef OXI_SOFTMAX_AHEAD
OXI_STRAIGHT_END
OXI_FULL_BEGIN
OXI_AS_WRITTEN
#define OXI_NORM_Y(load,i)vf_fma(vf_sub(load(r->x +i),mean),scale,rest)
#define OXI_NORM_H(load,r,i)(weighted ?vf_mul(load(r->g+i),load(r->weight+i)):load(r->g+i))
#define OXI_NORM_FLUSH (64*VF)
#define OXI_NORM_LAG (VF==16?64:0)
OXI_SHARED void OXI_ISA(norm_sums)(oxi_norm_row*r){const vf mean=vf_set1(r->mean),scale=vf_set1(r->scale),rest=vf_set1(r->rest);
const bool weighted=r->weight!=NULL;r->total=r->along=0;for(int64_t i=0,end;i<r->n;i=end){vf total=vf_zero(),along=vf_zero();
end=i+OXI_NORM_FLUSH<r->n?i+OXI_NORM_FLUSH:r->n;for(int64_t left;i<end;i+=left){left=end-i<VF?end-i:VF;
vf h=OXI_NORM_H(OXI_LOAD_LEFT,r,i);total=vf_add(total,h);along=vf_fma(h,OXI_NORM_Y(OXI_LOAD_LEFT,i),along);}
r->total+=(double)vf_hsum(total);
r->along+=(double)vf_hsum(along);}}
typedef struct OXI_ISA(norm_lanes){vf sum,squares,total,along;}OXI_ISA(norm_lanes);
#define OXI_NORM_ADD(l,load,i,about){\
vf d=load(r->x+i),h=OXI_NORM_H(load,r,i);\
if(centered){\
d=vf_sub(d,about);\
(l)->sum=vf_add((l)->sum,d);\
(l)->total=vf_add((l)->total,h);}\
(l)->squares=vf_fma(d,d,(l)->squares);\
(l)->along=vf_fma(h,d,(l)->along);}
OXI_INLINE void OXI_ISA(norm_add)(OXI_ISA(norm_lanes)*l,const oxi_norm_row*r,int64_t i,int k,vf about,bool weighted,bool centered){
OXI_NORM_ADD(l,vf_load,i+k,about)}
OXI_INLINE void OXI_ISA(norm_add_left)(OXI_ISA(norm_lanes)*l,const oxi_norm_row*r,int64_t i,int64_t left,bool weighted,bool centered){
float abouts[VF];vf_store(abouts,vf_set1(r->about));vf about=vf_load_n(abouts,left);OXI_NORM_ADD(l,OXI_LOAD_LEFT,i,about)}
OXI_INLINE void OXI_ISA(norm_flush)(oxi_norm_row*r,const OXI_ISA(norm_lanes)*a){r->sum+=(double)vf_hsum(a->sum);
r->squares+=(double)vf_hsum(a->squares);
r->total+=(double)vf_hsum(a->total);
r->along+=(double)vf_hsum(a->along);}
typedef struct OXI_ISA(norm_writing){oxi_norm_row row;int64_t at;vf mean,scale,rest,less,along;}OXI_ISA(norm_writing);
#define OXI_NORM_WRITE(load,store,keep,i,to){\
const oxi_norm_row*r=&w->row;\
vf mean=w->mean,scale=w->scale,rest=w->rest,y=OXI_NORM_Y(load,i);\
vf g=load(r->g+i),h=vf_add(g,w->less);\
if(weighted)h=vf_fma(g,load(weight+i),w->less);\
if(sums){\
keep(r->weight_sums+i,vf_fma(g,y,load(r->weight_sums+i)));\
keep(r->bias_sums+i,vf_add(load(r->bias_sums+i),g));}\
store(to,vf_mul(vf_fnma(y,w->along,h),scale));}
OXI_INLINE void OXI_ISA(norm_write_one)(const OXI_ISA(norm_writing)*w,int64_t i,int k,bool weighted,bool sums){
const float*weight=w->row.weight;
#define OXI_NORM_STORE(p,a){if (w->row.streams)vf_stream(p,a);else vf_store(p,a);}
OXI_NORM_WRITE(vf_load,OXI_NORM_STORE,vf_store,i+k,r->out+i+k)
#undef OXI_NORM_STORE
}
OXI_INLINE OXI_ISA(norm_writing)OXI_ISA(norm_writing_from)(const OXI_ISA(norm_writing)*w,int64_t first){OXI_ISA(norm_writing)to=*w;
if(first==0)return to;
to.row.x+=first;to.row.g+=first;to.row.out+=first;if(to.row.weight)to.row.weight+=first;
if(to.row.weight_sums)to.row.weight_sums+=first;
if(to.row.bias_sums)to.row.bias_sums+=first;
return to;}
OXI_INLINE void OXI_ISA(norm_write_edge)(const OXI_ISA(norm_writing)*w,int64_t i,int64_t end,float*out,bool weighted,bool sums){
const float*weight=w->row.weight;
#define OXI_STORE_LEFT(p,a)vf_store_n(p,a,left)
for(int64_t left;i<end;i+=left,out+=left){left=end-i<VF?end-i:VF;
OXI_NORM_WRITE(OXI_LOAD_LEFT,OXI_STORE_LEFT,OXI_STORE_LEFT,i,out)}
#undef OXI_STORE_LEFT
}
#define OXI_NORM_AHEAD(k){\
OXI_PREFETCH_READ(r->x+i+k+ahead);\
OXI_PREFETCH_READ(r->g+i+k+ahead);\
if(to->row.streams){\
OXI_PREFETCH_FAR(r->x+i+k+4*ahead);\
OXI_PREFETCH_FAR(r->g+i+k+4*ahead);}}
OXI_INLINE int64_t OXI_ISA(norm_stretch)(OXI_ISA(norm_lanes)*a,const oxi_norm_row*r,
const OXI_ISA(norm_writing)*to,int64_t i,int64_t until,vf about,bool weighted,bool sums,bool centered,bool writing){
enum{ahead=OXI_PREFETCH_AHEAD/sizeof(float)};for(;i+2*VF<=until;i+=2*VF){OXI_NORM_AHEAD(0)
if(VF==16)OXI_NORM_AHEAD(16)
OXI_ISA(norm_add)(a,r,i,0,about,weighted,centered);
if(writing)OXI_ISA(norm_write_one)(to,i,0,weighted,sums);
OXI_ISA(norm_add)(a,r,i,VF,about,weighted,centered);if(writing)OXI_ISA(norm_write_one)(to,i,VF,weighted,sums);}
return i;}
OXI_INLINE void OXI_ISA(norm_measure_of)(oxi_norm_row*row,OXI_ISA(norm_writing)*w,bool weighted,bool sums,bool centered,bool beside){
const oxi_norm_row copy=*row,*r=&copy;const int64_t n=r->n,lag=beside&&w->row.streams?w->row.lag:OXI_NORM_LAG;
const int64_t most=n/(2*VF)*(2*VF)-lag;int64_t writes=beside?(w->row.end-w->at)/(2*VF)*(2*VF):0;if(writes>most)writes=most<0?0:most;
const OXI_ISA(norm_writing)to=OXI_ISA(norm_writing_from)(w,writes>0?w->at-lag:0);const vf about=vf_set1(r->about);
for(int64_t i=0,end;i<n;i=end){OXI_ISA(norm_lanes)a;
a.sum=a.squares=a.total=a.along=vf_zero();end=i+OXI_NORM_FLUSH<n?i+OXI_NORM_FLUSH:n;
#define OXI_NORM_STRETCH(until,writing)\
i=OXI_ISA(norm_stretch)(&a,r,&to,i,(until)<end?(until):end,about,weighted,sums,centered,writing);
if(beside){OXI_NORM_STRETCH(lag,false)
OXI_NORM_STRETCH(lag+writes,true)}
OXI_NORM_STRETCH(end,false)
#undef OXI_NORM_STRETCH
if(i+VF<=end){OXI_ISA(norm_add)(&a,r,i,0,about,weighted,centered);
i+=VF;}
if(i<end)OXI_ISA(norm_add_left)(&a,r,i,end-i,weighted,centered);
OXI_ISA(norm_flush)(row,&a);}
w->at+=writes;}
OXI_INLINE void OXI_ISA(norm_measure_alone)(oxi_norm_row*row,bool weighted,bool centered){OXI_ISA(norm_writing)nothing;
memset(&nothing.row,0,sizeof nothing.row);nothing.at=0;OXI_ISA(norm_measure_of)(row,&nothing,weighted,false,centered,false);}
OXI_KERNEL void OXI_ISA(norm_measure)(oxi_norm_row*row){OXI_ISA(norm_measure_alone)(row,false,true);}
OXI_SHARED void OXI_ISA(norm_first)(oxi_norm_row*row){if(row->weight)
OXI_ISA(norm_measure_alone)(row,true,row->centered);
else
OXI_ISA(norm_measure_alone)(row,false,row->centered);}
OXI_INLINE void OXI_ISA(norm_write_of)(OXI_ISA(norm_writing)*w,oxi_norm_row*next,bool weighted,bool sums){if(next&&next->centered)
OXI_ISA(norm_measure_of)(next,w,weighted,sums,true,true);
else if(next)
OXI_ISA(norm_measure_of)(next,w,weighted,sums,false,true);
const oxi_norm_row*r=&w->row;for(;w->at<r->end;w->at+=VF)OXI_ISA(norm_write_one)(w,w->at,0,weighted,sums);
OXI_ISA(norm_write_edge)(w,0,r->head,r->first,weighted,sums);OXI_ISA(norm_write_edge)(w,r->end,r->n,r->last,weighted,sums);}
OXI_INLINE void OXI_ISA(norm_write)(const oxi_norm_row*r,oxi_norm_row*next){OXI_ISA(norm_writing)w;w.row=*r;w.at=r->head;
w.mean=vf_set1(r->mean);w.scale=vf_set1(r->scale);w.rest=vf_set1(r->rest);w.less=vf_set1(-(float)r->total);
w.along=vf_set1((float)r->along);for(int i=0;r->to&&i<16;i+=VF)vf_stream(r->to+i,vf_load(r->whole+i));
if(r->weight&&r->weight_sums)
OXI_ISA(norm_write_of)(&w,next,true,true);
else if(r->weight)
OXI_ISA(norm_write_of)(&w,next,true,false);
else
OXI_ISA(norm_write_of)(&w,next,false,false);}
OXI_INLINE void OXI_ISA(norm_begin)(const oxi_rows_back*r,int64_t i,float*room,oxi_norm_row*row){row->g=oxi_back_read(r,0,i,room);
row->x=oxi_back_read(r,1,i,room+r->n);row->about=row->centered?oxi_row_about(r->n,row->x):0;
row->sum=row->squares=row->total=row->along=0;}
OXI_INLINE void OXI_ISA(norm_place)(const oxi_rows_back*r,oxi_norm_lines*l,oxi_norm_row*row,float*out,const oxi_norm_row*next){
const int64_t in_line=OXI_LINE/(int64_t)sizeof(float);row->to=NULL;row->head=r->streams?oxi_row_past_head(out,r->n):0;
row->end=row->head+(r->n-row->head)/in_line*in_line;row->out=row->first=out;row->last=out+row->end;if(next){
int64_t x=oxi_norm_lag(next->x,out+row->head),g=oxi_norm_lag(next->g,out+row->head);row->lag=x>g?x:g;}
if(row->head&&l->to[l->at])row->first=l->line[l->at]+in_line-row->head;
if(!r->streams||!next||row->end==r->n)return;
l->at=(l->at+1)%4;row->whole=l->line[l->at];row->to=l->to[l->at];l->to[l->at]=row->last;row->last=l->line[l->at];}
OXI_INLINE void OXI_ISA(norm_take)(const oxi_rows_back*r,oxi_norm_row*row){
double count=(double)r->n,off=row->sum*r->share,squares=row->squares-off*row->sum;
double mean=row->about+off;
bool fits=row->squares>1e-12*count&&row->squares<1e30&&off*row->sum<=0.5*row->squares&&fabs(row->along)<1e38;
if(!fits)oxi_norm_moments(r,row,&mean,&squares);
double scale=1/sqrt(squares*r->share+r->eps);
row->mean=(float)mean;row->scale=(float)scale;row->rest=(float)((row->mean-mean)*scale);if(fits)
row->along=(row->along-off*row->total)*scale;
else
OXI_ISA(norm_sums)(row);
row->total=row->centered?row->total*r->share:0;row->along*=r->share;}
OXI_KERNEL void OXI_ISA(norm_rows)(const oxi_rows_back*r,int64_t first,int64_t end,float*room,float*sums){
const ox_tensor*out=r->call->out[0];int64_t step=oxi_signed_bytes(out->dtype,r->n);char*to=oxi_ptr(out)+first*step;oxi_norm_row row[2];
oxi_norm_lines lines;memset(&lines,0,sizeof lines);memset(row,0,sizeof row);for(int k=0;k<2;k++){row[k].n=r->n;
row[k].weight=r->weight;row[k].weight_sums=sums;row[k].bias_sums=sums?sums+r->step:NULL;
row[k].centered=r->call->op==OXI_OP_layer_norm_back;row[k].streams=r->streams;}
OXI_ISA(norm_begin)(r,first,room,&row[first&1]);OXI_ISA(norm_first)(&row[first&1]);for(int64_t i=first;i<end;i++,to+=step){
oxi_norm_row*at=&row[i&1],*next=i+1<end?&row[1 -(i&1)]:NULL;float*result=r->narrow?room+4*r->n:(float*)(void*)to;
if(next)OXI_ISA(norm_begin)(r,i+1,room+((i+1 -first)&1)*2*r->n,next);
OXI_ISA(norm_place)(r,&lines,at,result,next);OXI_ISA(norm_take)(r,at);OXI_ISA(norm_write)(at,next);
if(r->narrow)r->k->store[out->dtype][OXI_LANE_F32](r->n,result,to,1);}
for(int k=0;k<4;k++)
if(lines.to[k])r->k->stream(OXI_LINE,lines.line[k],lines.to[k]);}
#undef OXI_NORM_Y
#undef OXI_NORM_H
#undef OXI_NORM_ADD
#undef OXI_NORM_WRITE
#undef OXI_NORM_FLUSH
#undef OXI_NORM_AHEAD
#undef OXI_NORM_LAG
OXI_FULL_END
OXI_STRAIGHT_BEGIN
OXI_KERNEL void OXI_ISA(channel_back)(int64_t n,const float*g,const float*x,const oxi_channel_numbers*of,float*out,bool streams){
const vf mean=vf_set1(of->mean),a=vf_set1(of->a),b=vf_set1(of->b),c=vf_set1(of->c);
#define OXI_CHANNEL_BACK(load,i)vf_fma(load(g +i),a,vf_fma(vf_sub(load(x+i),mean),b,c))
OXI_WRITE(n,out,streams,OXI_CHANNEL_BACK)
#undef OXI_CHANNEL_BACK
}
#define OXI_BACK_STEP(name,OF)\
OXI_KERNEL void OXI_ISA(name)(const oxi_cell_row*r){\
const vf one=vf_constant(1.0f);\
const int64_t n=r->n;\
int64_t i=0;\
(void)one;\
for(;i+VF<=n;i+=VF)OF(OXI_STEP_IN,OXI_STEP_GIVE)\
const int64_t left=n-i;\
if(left)OF(OXI_STEP_IN_LEFT,OXI_STEP_GIVE_LEFT)}
#define OXI_STEP_IN(j,k)vf_load(r->in[j] +(k)*n+i)
#define OXI_STEP_GIVE(j,k,value)vf_store(r->out[j] +(k)*n+i,value)
#define OXI_STEP_IN_LEFT(j,k)vf_load_n(r->in[j] +(k)*n+i,left)
#define OXI_STEP_GIVE_LEFT(j,k,value)vf_store_n(r->out[j] +(k)*n+i,value,left)
#define OXI_THROUGH_SIGMOID(g,s)vf_mul(g,vf_mul(s,vf_sub(one,s)))
#define OXI_THROUGH_TANH(g,t)vf_mul(g,vf_fnma(t,t,one))
#define OXI_LSTM(IN,GIVE){\
vf a=vf_sigmoid(vf_add(IN(0,0),IN(1,0))),f=vf_sigmoid(vf_add(IN(0,1),IN(1,1)));\
vf b=vf_tanh(vf_add(IN(0,2),IN(1,2))),o=vf_sigmoid(vf_add(IN(0,3),IN(1,3)));\
vf c=vf_fma(f,IN(2,0),vf_mul(a,b));\
GIVE(0,0,a);\
GIVE(0,1,f);\
GIVE(0,2,b);\
GIVE(0,3,o);\
GIVE(1,0,c);\
GIVE(2,0,vf_mul(o,vf_tanh(c)));}
OXI_BACK_STEP(lstm_step,OXI_LSTM)
#undef OXI_LSTM
#define OXI_LSTM_BACK(IN,GIVE){\
vf a=IN(2,0),f=IN(2,1),b=IN(2,2),o=IN(2,3),c=IN(3,0),g=IN(0,0);\
vf t=vf_tanh(vf_fma(f,c,vf_mul(a,b))),own=OXI_THROUGH_TANH(vf_mul(g,o),t);\
if(r->in[1])own=vf_add(own,IN(1,0));\
GIVE(0,0,OXI_THROUGH_SIGMOID(vf_mul(own,b),a));\
GIVE(0,1,OXI_THROUGH_SIGMOID(vf_mul(own,c),f));\
GIVE(0,2,OXI_THROUGH_TANH(vf_mul(own,a),b));\
GIVE(0,3,OXI_THROUGH_SIGMOID(vf_mul(g,t),o));\
GIVE(1,0,vf_mul(own,f));}
OXI_BACK_STEP(lstm_step_back,OXI_LSTM_BACK)
#undef OXI_LSTM_BACK
#define OXI_GRU(IN,GIVE){\
vf reset=vf_sigmoid(vf_add(IN(0,0),IN(1,0))),keep=vf_sigmoid(vf_add(IN(0,1),IN(1,1)));\
vf part=IN(1,2),made=vf_tanh(vf_fma(reset,part,IN(0,2)));\
GIVE(0,0,reset);\
GIVE(0,1,keep);\
GIVE(0,2,made);\
GIVE(0,3,part);\
GIVE(1,0,vf_fma(keep,vf_sub(IN(2,0),made),made));}
OXI_BACK_STEP(gru_step,OXI_GRU)
#undef OXI_GRU
#define OXI_GRU_BACK(IN,GIVE){\
vf reset=IN(2,0),keep=IN(2,1),made=IN(2,2),g=IN(0,0);\
vf own=OXI_THROUGH_TANH(vf_mul(g,vf_sub(one,keep)),made);\
vf of_reset=OXI_THROUGH_SIGMOID(vf_mul(own,IN(2,3)),reset);\
vf of_keep=OXI_THROUGH_SIGMOID(vf_mul(g,vf_sub(IN(3,0),made)),keep);\
GIVE(0,0,of_reset);\
GIVE(0,1,of_keep);\
GIVE(0,2,own);\
GIVE(1,0,of_reset);\
GIVE(1,1,of_keep);\
GIVE(1,2,vf_mul(own,reset));\
GIVE(2,0,vf_mul(g,keep));}
OXI_BACK_STEP(gru_step_back,OXI_GRU_BACK)
#undef OXI_GRU_BACK
#define OXI_RNN(IN,GIVE){\
vf sum=vf_add(IN(0,0),IN(1,0));\
GIVE(0,0,r->least<0?vf_tanh(sum):vf_select(vf_lt(sum,vf_zero()),vf_zero(),sum));}
OXI_BACK_STEP(rnn_step,OXI_RNN)
#undef OXI_RNN
#define OXI_RNN_BACK(IN,GIVE){\
vf g=IN(0,0),y=IN(2,0);\
GIVE(0,0,r->least<0?OXI_THROUGH_TANH(g,y):vf_select(vf_le(y,vf_zero()),vf_zero(),g));}
OXI_BACK_STEP(rnn_step_back,OXI_RNN_BACK)
#undef OXI_RNN_BACK
#undef OXI_BACK_STEP
#undef OXI_STEP_IN
#undef OXI_STEP_GIVE
#undef OXI_STEP_IN_LEFT
#undef OXI_STEP_GIVE_LEFT
#undef OXI_THROUGH_SIGMOID
#undef OXI_THROUGH_TANH
static const oxi_back_kernels OXI_ISA(back)={OXI_PICKS,OXI_GELU_DEGREE,OXI_GELU_STEP,OXI_ISA(silu_back),OXI_ISA(gelu_back),
OXI_ISA(softmax_back),OXI_ISA(softmax_back_next),OXI_ISA(log_softmax_back),OXI_ISA(norm_measure),OXI_ISA(norm_rows),
OXI_ISA(channel_back),OXI_ISA(lstm_step),OXI_ISA(gru_step),OXI_ISA(rnn_step),
OXI_ISA(lstm_step_back),OXI_ISA(gru_step_back),OXI_ISA(rnn_step_back)};
#undef OXI_GELU_STEP
#undef OXI_GELU_DEGREE
#undef OXI_PICKS
#undef vf_pick
#undef OXI_WRITE
#undef OXI_WRITE_AHEAD
#undef OXI_NOTHING_AHEAD
#undef OXI_NEXT_ROW
#undef OXI_LOAD_LEFT
#endif
