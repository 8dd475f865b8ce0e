/* hook_alloc.h - an allocator for tests: no memory from its n-th request on; counts what is out. */
#ifndef HOOK_ALLOC_H
#define HOOK_ALLOC_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct hook {
    int64_t requests, fail_at, outstanding;
} hook;

static void *hook_alloc(void *user, size_t bytes) {
    hook *h = (hook *)user;
    if (++h->requests >= h->fail_at) return NULL; /* and from there on: one failure is tried again */
    char *block = (char *)malloc(bytes + 128);
    char *aligned = block + 64 + (64 - ((uintptr_t)block & 63)) % 64;
    memcpy(aligned - sizeof block, &block, sizeof block);
    h->outstanding++;
    return aligned;
}

static void hook_free(void *user, void *memory, size_t bytes) {
    char *block;
    (void)bytes;
    ((hook *)user)->outstanding--;
    memcpy(&block, (char *)memory - sizeof block, sizeof block);
    free(block);
}

#endif
