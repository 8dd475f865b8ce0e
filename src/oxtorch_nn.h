/* oxtorch_nn.h - 0.1.0 - gradients and training, over oxtorch.h - SPDX-License-Identifier: MIT
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
#ifndef OX_TORCH_NN_H
#define OX_TORCH_NN_H

#include "oxtorch.h"
#include "autograd/autograd.h"
#include "nn/losses.h"
#include "nn/optimizers.h"
#include "nn/images/images.h"
#include "nn/recurrent/recurrent.h"
#include "nn/recurrent/packed.h"
#include "nn/distributions/distributions.h"
#include "nn/algebra/algebra.h"
#include "nn/statistics/statistics.h"
#include "nn/statistics/masked.h"
#include "nn/random.h"
#include "nn/signal.h"
#include "nn/sparse/sparse.h"
#include "nn/tensors/tensors.h"
#include "nn/quantize/quantize.h"

#endif /* OX_TORCH_NN_H */

#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_NN_IMPLEMENTED)
#define OX_TORCH_NN_IMPLEMENTED

#include "autograd/internal.h"

/* what gradients call too */
#include "nn/algebra/factors.c"

/* gradients of the rows of the table */
#include "autograd/rules/shapes.c"
#include "autograd/back/kernels.c"
#include "autograd/back/functions.c"
#include "autograd/back/rows.c"
#include "autograd/back/channels.c"
#include "autograd/back/steps.c"
#include "autograd/back/attention.c"
#include "autograd/back/back.c"
#include "autograd/rules/reductions.c"
#include "autograd/rules/scans.c"
#include "autograd/rules/rows.c"
#include "autograd/rules/index.c"
#include "autograd/rules/views.c"
#include "autograd/rules/products.c"
#include "autograd/rules/conv.c"
#include "autograd/rules/attention.c"
#include "autograd/rules/special.c"
#include "autograd/rules/linalg.c"
#include "autograd/rules/fourier.c"
#include "autograd/rules/chain.c"
#include "autograd/rules/formula.c"

/* the tape and the engine */
#include "autograd/graph.h"
#include "autograd/tape.c"
#include "autograd/node.c"
#include "autograd/engine.c"
#include "autograd/functions.c"
#include "autograd/custom.c"
#include "autograd/checkpoint.c"
#include "autograd/functional.c"
#include "autograd/gradcheck.c"

/* training */
#include "nn/tensors/joins.c"
#include "nn/tensors/index.c"
#include "nn/tensors/elementwise.c"
#include "nn/tensors/products.c"
#include "nn/tensors/choose.c"
#include "nn/tensors/arrange.c"
#include "nn/tensors/order.c"
#include "nn/class_logs.c"
#include "nn/class_sums.c"
#include "nn/losses.c"
#include "nn/ctc.c"
#include "nn/images/pad.c"
#include "nn/images/interpolate.c"
#include "nn/images/grid.c"
#include "nn/images/windows.c"
#include "nn/recurrent/step.c"
#include "nn/recurrent/recurrent.c"
#include "nn/recurrent/packed.c"
#include "nn/distributions/densities.c"
#include "nn/distributions/draws.c"
#include "nn/distributions/divergences.c"
#include "nn/distributions/distributions.c"
#include "nn/distributions/samples.c"
#include "nn/algebra/algebra.c"
#include "nn/algebra/einsum.c"
#include "nn/algebra/ldl.c"
#include "nn/algebra/norms.c"
#include "nn/algebra/products.c"
#include "nn/statistics/order.c"
#include "nn/statistics/statistics.c"
#include "nn/statistics/masked.c"
#include "nn/random.c"
#include "nn/signal.c"
#include "nn/spectra.c"
#include "nn/sparse/sparse.c"
#include "nn/sparse/bags.c"
#include "nn/tensors/in_place.c"
#include "nn/tensors/made.c"
#include "nn/quantize/quantize.c"
#include "nn/optimizer_rules.c"
#include "nn/optimizers.c"

#endif /* OX_TORCH_NN_IMPLEMENTED */
