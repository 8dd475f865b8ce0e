/* shunt_check.h - what tests of planned devices share: the spill folder, and the bits of two results. */
#ifndef SHUNT_CHECK_H
#define SHUNT_CHECK_H

#include "check.h"
#include "oxtorch_stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder(void) {
    const char *test = getenv("OX_TEST_TMP");
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : test ? test : ".";
}

static bool same_bits(ox_tensor *a, ox_tensor *b) {
    bool same = a && b && a->dtype == b->dtype && a->ndim == b->ndim && ox_nbytes(a) == ox_nbytes(b);
    void *x = same ? malloc(ox_nbytes(a) + 1) : NULL, *y = same ? malloc(ox_nbytes(a) + 1) : NULL;
    same = x && y && ox_to_data(a, x, ox_nbytes(a)) == OX_OK && ox_to_data(b, y, ox_nbytes(b)) == OX_OK &&
           memcmp(x, y, ox_nbytes(a)) == 0;
    free(x);
    free(y);
    return same;
}

#endif
