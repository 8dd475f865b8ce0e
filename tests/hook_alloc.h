/* hook_alloc.h - an allocator for tests: no memory from its n-th request on, from any thread; counts what is
 * out. */
#ifndef HOOK_ALLOC_H
#define HOOK_ALLOC_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Zeroed, it refuses everything. */
typedef struct hook {
    int64_t requests, fail_at, outstanding; /* atomic while threads use it */
} hook;

/* So many more requests succeed; INT64_MAX: all. */
static inline void hook_allow(hook *h, int64_t more) {
    __atomic_store_n(&h->requests, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&h->fail_at, more < INT64_MAX ? more + 1 : more, __ATOMIC_RELEASE);
}

static inline int64_t hook_out(hook *h) {
    return __atomic_load_n(&h->outstanding, __ATOMIC_ACQUIRE);
}

static void *hook_alloc(void *user, size_t bytes) {
    hook *h = (hook *)user;
    if (__atomic_add_fetch(&h->requests, 1, __ATOMIC_ACQ_REL) >=
        __atomic_load_n(&h->fail_at, __ATOMIC_ACQUIRE))
        return NULL; /* and from there on: one failure is tried again */
    char *block = (char *)malloc(bytes + 128);
    if (!block) return NULL;
    char *aligned = block + 64 + (64 - ((uintptr_t)block & 63)) % 64;
    memcpy(aligned - sizeof block, &block, sizeof block);
    __atomic_add_fetch(&h->outstanding, 1, __ATOMIC_ACQ_REL);
    return aligned;
}

static void hook_free(void *user, void *memory, size_t bytes) {
    char *block;
    (void)bytes;
    __atomic_sub_fetch(&((hook *)user)->outstanding, 1, __ATOMIC_ACQ_REL);
    memcpy(&block, (char *)memory - sizeof block, sizeof block);
    free(block);
}

#endif
