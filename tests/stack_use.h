/* stack_use.h - how much stack a call uses: the stack below the caller is painted before it, and afterwards
 * read from its far end up to where the paint is gone. Stacks grow down wherever the tests run. */
#ifndef STACK_USE_H
#define STACK_USE_H

#include <stddef.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_USE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STACK_USE_SANITIZED 1
#endif
#endif

#define STACK_PAINTED (192 << 10)

/* What any public call may use. Sanitizers put gaps around every variable, and without optimization each
 * vector of a kernel has a place of its own: there the tier without vectors has to fit a thread of 64 KiB. */
#ifdef __OPTIMIZE__
#define STACK_MOST (32 << 10)
#else
#define STACK_MOST (48 << 10)
#endif
#define STACK_NOT_MEASURED \
    "frames are larger under sanitizers, on mirrors and without optimization (but OX_ISA=c)"

static inline int stack_is_measured(void) {
#if defined(STACK_USE_SANITIZED) || !defined(__GNUC__)
    return 0;
#elif defined(__OPTIMIZE__)
    return !getenv("OX_MIRROR");
#else
    const char *tier = getenv("OX_ISA");
    return tier && tier[0] == 'c' && !getenv("OX_MIRROR");
#endif
}

#ifdef __GNUC__
#define STACK_FRAME_OF_ITS_OWN __attribute__((noinline))
#else
#define STACK_FRAME_OF_ITS_OWN
#endif

STACK_FRAME_OF_ITS_OWN static void stack_paint(void) {
    volatile unsigned char area[STACK_PAINTED];
    for (size_t i = 0; i < sizeof area; i++) area[i] = 0xa5;
}

/* Bytes of the stack that the same caller saw written since it was painted: reads what others left there. */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
STACK_FRAME_OF_ITS_OWN static size_t stack_used(void) {
    volatile unsigned char area[STACK_PAINTED];
    size_t clean = 0;
    while (clean < sizeof area && area[clean] == 0xa5) clean++;
    return sizeof area - clean;
}
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif
