/* What beside.py compares two builds of the library by: products of one thread while another loops over sums.
 * Compiled once for each build, with OX_STATIC, so that both can be loaded into one process. */
#define OX_STATIC
#define OX_IMPLEMENTATION
#include "oxtorch.h"
#include "../bench.h"
#include <pthread.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void beside_open(int threads);
EXPORT double beside_seconds(int64_t size, int64_t numbers, double seconds, double *helper_calls,
                             double *own);

static int64_t stopping, calls;

EXPORT void beside_open(int threads) { ox_set_threads(threads); }

static void *helper(void *arg) {
    ox_tensor *x = (ox_tensor *)arg;
    while (oxi_atomic_load(&stopping) == 0) {
        ox_release(ox_add(x, x));
        (void)oxi_atomic_add(&calls, 1);
    }
    return NULL;
}

static double own_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The mean time of products of [size,size] while another thread adds `numbers` numbers at a time; 0: alone.
 * own: how long this thread had a processor for each. */
EXPORT double beside_seconds(int64_t size, int64_t numbers, double seconds, double *helper_calls,
                             double *own) {
    pthread_t thread;
    int count = 0;
    ox_tensor *a = ox_rand(OX_SHAPE(size, size), OX_F32), *b = ox_rand(OX_SHAPE(size, size), OX_F32);
    ox_tensor *x = ox_rand(OX_SHAPE(numbers), OX_F32);
    stopping = calls = 0;
    if (numbers > 0) pthread_create(&thread, NULL, helper, x);
    double begin = bench_now(), now = begin, had = own_seconds();
    for (; count < 3 || now - begin < seconds; count++) {
        ox_release(ox_matmul(a, b));
        now = bench_now();
    }
    *own = (own_seconds() - had) / count;
    *helper_calls = (double)oxi_atomic_load(&calls) / (now - begin);
    oxi_atomic_store(&stopping, 1);
    if (numbers > 0) pthread_join(thread, NULL);
    ox_release(a);
    ox_release(b);
    ox_release(x);
    return (now - begin) / count;
}
