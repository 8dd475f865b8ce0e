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
