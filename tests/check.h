/* check.h - the test framework: count, report, go on.
 *
 * A test is one program, tests/test_NAME.c: its main() calls CHECK as often as it likes and ends with
 * `return check_done("NAME");`. A failed check prints its file and line and the program continues.
 * Words in the first ten lines of a test that the runner (tests/run.sh) and tests/matrix.sh look for:
 *   OX_TIERS  run once for every instruction set of this machine (environment OX_ISA)
 *   OX_TSAN   also part of `make tsan`
 *   OX_VULKAN also run with every call on a stream and on a Vulkan device (mirror.c)
 *   OX_QEMU   short enough to run under qemu-user in `make matrix`
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Only the first failures of a program are printed; the rest are counted. */
#define CHECK_PRINT_MAX 25

typedef struct check_counts {
    long passed, failed, skipped;
} check_counts;

static check_counts check_total;

/* Counts one check. Returns 1 if it failed and its message is still to be printed. */
static inline int check_count(int ok) {
    if (ok) {
        check_total.passed++;
        return 0;
    }
    check_total.failed++;
    if (check_total.failed == CHECK_PRINT_MAX + 1) printf("  (further failures are counted, not printed)\n");
    return check_total.failed <= CHECK_PRINT_MAX;
}

/* The larger of two distances; a NaN stays, whatever comes behind it. */
static inline double check_worst(double worst, double off) {
    return off <= worst || worst != worst ? worst : off;
}

static inline void check_true(int ok, const char *file, int line, const char *text) {
    if (check_count(ok)) {
        printf("%s:%d: failed: %s\n", file, line, text);
        fflush(stdout);
    }
}

#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
static inline void
check_true_message(int ok, const char *file, int line, const char *text, const char *format, ...) {
    va_list args;
    if (!check_count(ok)) return;
    printf("%s:%d: failed: %s: ", file, line, text);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

/* CHECK(cond) counts cond; CHECK_MSG(cond, format, ...) says more when it is false (the arguments are
 * evaluated either way). Both evaluate cond once. */
#define CHECK(cond) check_true((cond) ? 1 : 0, __FILE__, __LINE__, #cond)
#define CHECK_MSG(cond, ...) check_true_message((cond) ? 1 : 0, __FILE__, __LINE__, #cond, __VA_ARGS__)

/* All tensors and their memory are gone. */
#define CHECK_NO_TENSORS()                                                                      \
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0,        \
              "%lld tensors left", (long long)ox_memory_get_stats().tensors)

/* Reports something that this machine cannot test, with the reason. */
static inline void check_skip(const char *name, const char *why) {
    check_total.skipped++;
    printf("skip %s: %s\n", name, why);
    fflush(stdout);
}

/* Whether this is the Vulkan mirror of `make test`, on a software GPU as a rule: cases that take it long and
 * repeat what others have are left to `make vulkan-mirror` (mirror.c). */
static inline int is_short_mirror(void) {
    return getenv("OX_MIRROR_SHORT") != NULL;
}

/* Whether calls run on another device (mirror.c): what is the CPU's own needs no second look there, and each
 * call has repacked operands put back, to copy them. */
static inline int is_mirror(void) {
    return getenv("OX_MIRROR") != NULL;
}

/* Prints the line that the runner adds up, and gives the exit code of the program. */
static inline int check_done(const char *suite) {
    printf("suite %s: %ld passed, %ld failed, %ld skipped\n", suite, check_total.passed, check_total.failed,
           check_total.skipped);
    fflush(stdout);
    return check_total.failed ? 1 : 0;
}

/* The end of a suite that cannot run here. */
static inline int check_skipped(const char *suite, const char *why) {
    check_skip(suite, why);
    return check_done(suite);
}

#endif
