/* block_weights.h - weights of any type for tests. */
#ifndef BLOCK_WEIGHTS_H
#define BLOCK_WEIGHTS_H

#include "oxtorch.h"

#include <stdint.h>
#include <string.h>

/* x, f32, as dtype; for MXFP4, which nothing is cast to, numbers of about 0.02 made of x's lowest bits. */
static ox_tensor *as_weights(ox_tensor *x, ox_dtype dtype) {
    if (!x || dtype != OX_MXFP4) return ox_cast(x, dtype);
    ox_shape shape = {x->ndim, {0}};
    for (int i = 0; i < x->ndim; i++) shape.dim[i] = x->shape[i];
    ox_tensor *blocks = ox_empty(shape, dtype);
    uint8_t *bytes = blocks ? (uint8_t *)ox_data(blocks) : NULL;
    const float *from = (const float *)ox_data(x);
    for (size_t i = 0; bytes && from && i < ox_nbytes(blocks); i++) {
        uint32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        bytes[i] = (uint8_t)(i % 17 == 0 ? 119 + bits % 2 : bits);
    }
    return blocks;
}

#endif
