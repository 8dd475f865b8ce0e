/* System headers and compiler differences, for the implementation only.
 * No feature macros: system headers may have been included before, so what strict C hides is declared here.
 * OXI_POSIX says that there are files, mmap and (unless OX_NO_THREADS) pthreads. */
#ifndef OX_BASE_PLATFORM_H
#define OX_BASE_PLATFORM_H

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <malloc.h>
#include <windows.h>
#undef near
#undef far
#undef small
#elif defined(__unix__) || defined(__unix) || defined(__APPLE__) || defined(__HAIKU__)
#define OXI_POSIX 1
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#ifndef OX_NO_THREADS
#include <pthread.h>
#endif
#endif

#if !defined(_WIN32) && !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
void *aligned_alloc(size_t align, size_t bytes);
#endif

#ifdef __linux__
#include <sys/syscall.h>
#if !defined(__cplusplus) && !defined(_GNU_SOURCE) && !defined(_DEFAULT_SOURCE) && !defined(_BSD_SOURCE)
int madvise(void *memory, size_t bytes, int advice);
long syscall(long number, ...);
/* With 32 bits struct timespec may not be the one of this symbol. */
#if !defined(CLOCK_MONOTONIC) && defined(__LP64__)
int clock_gettime(int clock, struct timespec *out);
#define CLOCK_MONOTONIC 1
#endif
#endif
/* Values of <asm-generic/mman-common.h>; the processors that differ do without. */
#ifndef MADV_HUGEPAGE
#define MADV_HUGEPAGE 14
#endif
#if defined(__mips__) || defined(__powerpc__) || defined(__sparc__) || defined(__alpha__)
#define OXI_OTHER_MMAN 1
#endif
#if !defined(MAP_NORESERVE) && !defined(OXI_OTHER_MMAN)
#define MAP_NORESERVE 0x4000
#endif
#if !defined(MAP_ANONYMOUS) && !defined(OXI_OTHER_MMAN)
#define MAP_ANONYMOUS 0x20
#endif
#endif

#ifdef OXI_POSIX
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif
/* Transfers at an offset, of 64 bits also where off_t is narrower. */
#if defined(__linux__) && !defined(__LP64__)
#if !defined(__USE_LARGEFILE64)
OX_EXTERN_C_BEGIN
ssize_t pread64(int file, void *data, size_t bytes, long long offset);
ssize_t pwrite64(int file, const void *data, size_t bytes, long long offset);
OX_EXTERN_C_END
#endif
#define OXI_PREAD pread64
#define OXI_PWRITE pwrite64
#else
#if defined(__linux__) && !defined(__cplusplus) && !defined(__USE_UNIX98) && !defined(__USE_XOPEN2K8)
ssize_t pread(int file, void *data, size_t bytes, off_t offset);
ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset);
#endif
#define OXI_PREAD pread
#define OXI_PWRITE pwrite
#endif
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define OXI_THREAD_LOCAL __declspec(thread)
#else
#define OXI_THREAD_LOCAL __thread
#endif

/* Address sanitizer: freed blocks that the cache keeps are marked, so that their use is still found. */
#if defined(__SANITIZE_ADDRESS__)
#define OXI_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OXI_ASAN 1
#endif
#endif
#ifdef OXI_ASAN
OX_EXTERN_C_BEGIN
void __asan_poison_memory_region(void const volatile *memory, size_t bytes);
void __asan_unpoison_memory_region(void const volatile *memory, size_t bytes);
OX_EXTERN_C_END
#define OXI_POISON(memory, bytes) __asan_poison_memory_region(memory, bytes)
#define OXI_UNPOISON(memory, bytes) __asan_unpoison_memory_region(memory, bytes)
#else
#define OXI_POISON(memory, bytes) ((void)(memory), (void)(bytes))
#define OXI_UNPOISON(memory, bytes) ((void)(memory), (void)(bytes))
#endif

#endif
