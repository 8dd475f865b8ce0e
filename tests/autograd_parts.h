/* autograd_parts.h - the implementation with its gradients, for a test that sees what lies below the public
 * functions: the page that has them, or the parts themselves where it is not packed yet. */
#ifndef AUTOGRAD_PARTS_H
#define AUTOGRAD_PARTS_H

#if defined(__has_include)
#if __has_include("oxtorch_nn.h")
#include "oxtorch_nn.h"
#define HAS_AUTOGRAD 1
#elif __has_include("autograd/internal.h")
#include "oxtorch.h"

#include "autograd/internal.h"
#include "autograd/rules/shapes.c"
#include "autograd/rules/reductions.c"
#include "autograd/rules/scans.c"
#include "autograd/rules/rows.c"
#include "autograd/rules/index.c"
#include "autograd/rules/views.c"
#include "autograd/rules/products.c"
#include "autograd/rules/attention.c"
#include "autograd/rules/formula.c"
#define HAS_AUTOGRAD 1
#endif
#endif

#endif
