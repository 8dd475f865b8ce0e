/* hook_alloc.h - an allocator for tests: no memory from its n-th request on, or for a few requests, from any
 * thread; counts what is out. */
#ifndef HOOK_ALLOC_H
#define HOOK_ALLOC_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Zeroed, it refuses everything. Atomic while threads use it. */
typedef struct hook {
    int64_t requests, fail_at, outstanding;
    int64_t fails;     /* so many requests are refused; 0: all from fail_at on */
    int64_t failures;  /* were refused */
    int64_t bytes_out;
} hook;

/* So many more requests succeed; INT64_MAX: all. */
static inline void hook_allow(hook *h, int64_t more) {
    __atomic_store_n(&h->requests, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&h->failures, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&h->fail_at, more < INT64_MAX ? more + 1 : more, __ATOMIC_RELEASE);
}

static inline int64_t hook_out(hook *h) {
    return __atomic_load_n(&h->outstanding, __ATOMIC_ACQUIRE);
}

static void *hook_alloc(void *user, size_t bytes) {
    hook *h = (hook *)user;
    int64_t past = __atomic_add_fetch(&h->requests, 1, __ATOMIC_ACQ_REL) -
                   __atomic_load_n(&h->fail_at, __ATOMIC_ACQUIRE);
    if (past >= 0 && (!h->fails || past < h->fails)) {
        __atomic_add_fetch(&h->failures, 1, __ATOMIC_ACQ_REL);
        return NULL;
    }
    char *block = (char *)malloc(bytes + 128);
    if (!block) return NULL;
    char *aligned = block + 64 + (64 - ((uintptr_t)block & 63)) % 64;
    memcpy(aligned - sizeof block, &block, sizeof block);
    memset(aligned, 0xcd, bytes); /* nobody may count on zeros */
    __atomic_add_fetch(&h->outstanding, 1, __ATOMIC_ACQ_REL);
    __atomic_add_fetch(&h->bytes_out, (int64_t)bytes, __ATOMIC_ACQ_REL);
    return aligned;
}

static void hook_free(void *user, void *memory, size_t bytes) {
    hook *h = (hook *)user;
    char *block;
    __atomic_sub_fetch(&h->outstanding, 1, __ATOMIC_ACQ_REL);
    __atomic_sub_fetch(&h->bytes_out, (int64_t)bytes, __ATOMIC_ACQ_REL);
    memcpy(&block, (char *)memory - sizeof block, sizeof block);
    free(block);
}

#endif
