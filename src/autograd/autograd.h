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
