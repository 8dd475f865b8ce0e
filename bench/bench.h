/* What every benchmark shares: a clock, medians of runs taken in turn, and this machine's copy bandwidth.
 * Times are medians; ratios compare runs of the same minute, so a noisy machine disturbs both sides alike. */
#ifndef OX_BENCH_H
#define OX_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double bench_now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int bench_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double bench_median(double *seconds, int count) {
    qsort(seconds, (size_t)count, sizeof *seconds, bench_compare);
    return seconds[count / 2];
}

typedef void (*bench_work)(void *arg);

#define BENCH_MAX_RUNS 64

/* Runs a and b in turn, `runs` times after one of each that does not count; medians go to *a_seconds,
 * *b_seconds. */
static inline void bench_in_turn(bench_work a, void *a_arg, bench_work b, void *b_arg, int runs,
                                 double *a_seconds, double *b_seconds) {
    double first[BENCH_MAX_RUNS], second[BENCH_MAX_RUNS];
    a(a_arg);
    b(b_arg);
    for (int i = 0; i < runs && i < BENCH_MAX_RUNS; i++) {
        double start = bench_now();
        a(a_arg);
        double middle = bench_now();
        b(b_arg);
        first[i] = middle - start;
        second[i] = bench_now() - middle;
    }
    *a_seconds = bench_median(first, runs);
    *b_seconds = bench_median(second, runs);
}

#endif
