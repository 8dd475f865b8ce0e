/* fuzz_main.c - replays a fuzz target without a fuzzer: `fuzz_NAME FILE...`.
 * Runs LLVMFuzzerTestOneInput on every file and on every truncation of it, each in a block of exactly its
 * size, so that a sanitizer sees the first byte read too far. A file passes when nothing crashes and every
 * call returns 0. */
#include "check.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Larger files are cut at every byte of their first and last part and in steps between, to bound the time. */
#define CUT_EVERY_BYTE 8192u
#define CUT_STEPS 1024u

static size_t next_cut(size_t cut, size_t size) {
    size_t step = size / CUT_STEPS + 1;
    if (cut < CUT_EVERY_BYTE || size - cut <= CUT_EVERY_BYTE) return cut + 1;
    if (step > size - cut - CUT_EVERY_BYTE) step = size - cut - CUT_EVERY_BYTE;
    return cut + (step ? step : 1);
}

/* Returns 1 when the target took the input. */
static int run_one(const uint8_t *data, size_t size) {
    uint8_t *copy = (uint8_t *)malloc(size ? size : 1);
    int result;
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    result = LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    return result == 0;
}

/* A file and its truncations. Returns the number of bytes at which the target failed first, or -1. */
static long run_truncations(const uint8_t *data, size_t size) {
    size_t cut;
    for (cut = 0; cut < size; cut = next_cut(cut, size))
        if (!run_one(data, cut)) return (long)cut;
    return run_one(data, size) ? -1 : (long)size;
}

static uint8_t *read_all(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long length;
    if (!file) return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        *size = (size_t)length;
        data = (uint8_t *)malloc(*size ? *size : 1);
        if (data && fread(data, 1, *size, file) != *size) {
            free(data);
            data = NULL;
        }
    }
    fclose(file);
    return data;
}

int main(int argc, char **argv) {
    const char *name = argc ? strrchr(argv[0], '/') : NULL;
    int i;
    CHECK(run_one((const uint8_t *)"", 0));
    for (i = 1; i < argc; i++) {
        size_t size = 0;
        long at;
        uint8_t *data = read_all(argv[i], &size);
        if (!data) {
            CHECK_MSG(0, "cannot read %s", argv[i]);
            continue;
        }
        at = run_truncations(data, size);
        CHECK_MSG(at < 0, "%s, its first %ld bytes", argv[i], at);
        free(data);
    }
    if (argc < 2) check_skip("corpus", "tests/corpus has no folder of that name, or it is empty");
    return check_done(name ? name + 1 : "fuzz");
}
