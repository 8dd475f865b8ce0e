/* backwards.h - views with negative strides: ox_flip copies, a slice by steps of -1 does not. */
#ifndef BACKWARDS_H
#define BACKWARDS_H

#include "oxtorch.h"

/* A view of x with these dims backwards; negative ones count from the end. */
static inline ox_tensor *backwards(ox_tensor *x, ox_shape dims) {
    for (int i = 0; x && i < dims.ndim; i++) x = ox_slice(x, (int)dims.dim[i], OX_END, OX_END, -1);
    return x;
}

#endif
