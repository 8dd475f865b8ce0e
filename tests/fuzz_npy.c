/* fuzz_npy.c - opens any bytes as a file, starting from .npy, .npz and the zip reader: nothing crashes,
 * hangs, reads too far or leaks. */
#define _GNU_SOURCE 1
#define FILE_FUZZ
#include "oxtorch.h"

#include "file_walk.h"
