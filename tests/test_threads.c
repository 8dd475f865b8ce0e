/* test_threads.c - the thread pool: every task once, lanes apart, nesting, several callers, host jobs, fork.
 * OX_OWN_IMPLEMENTATION OX_TSAN OX_QEMU: tests internals. */
#include <stdio.h>
#include <stdlib.h>
#define OX_IMPLEMENTATION
#define OX_STATIC
#define OX_NO_SIMD                       /* no kernels are tested here: compile less */
#include "oxtorch.h"

#include "check.h"

#if defined(OXI_POSIX) && !defined(OX_NO_THREADS)
#include <sys/wait.h>
#define TEST_PTHREADS 1
#endif

enum { TASKS = 1000 };

typedef struct work {
    int64_t done[TASKS];                 /* times that a task ran */
    int64_t busy[OXI_MAX_THREADS];       /* 1 while a lane is inside a task */
    int64_t clashes, bad_lanes, nested_lanes, nested;
    int lanes;
    int64_t fail_at;
} work;

static void nested_task(void *arg, int64_t index, int lane) {
    work *w = (work *)arg;
    (void)index;
    if (lane != 0) oxi_atomic_add(&w->nested_lanes, 1);
    oxi_atomic_add(&w->nested, 1);
}

static void count_task(void *arg, int64_t index, int lane) {
    work *w = (work *)arg;
    if (lane < 0 || lane >= w->lanes) {
        oxi_atomic_add(&w->bad_lanes, 1);
        return;
    }
    if (oxi_atomic_add(&w->busy[lane], 1) != 1) oxi_atomic_add(&w->clashes, 1);
    oxi_atomic_add(&w->done[index], 1);
    if (oxi_lanes(100) != 1) oxi_atomic_add(&w->bad_lanes, 1);
    if (index % 100 == 0) oxi_parallel_for(5, nested_task, w);
    if (w->fail_at == index + 1) oxi_fail(OX_ERR_INDEX, "task %d", (int)index);
    oxi_atomic_add(&w->busy[lane], -1);
}

static void check_region(work *w, int64_t tasks) {
    memset(w, 0, sizeof *w);
    w->lanes = oxi_lanes(tasks);
    oxi_parallel_for(tasks, count_task, w);
    int64_t wrong = 0;
    for (int64_t i = 0; i < TASKS; i++) wrong += w->done[i] != (i < tasks ? 1 : 0);
    CHECK(wrong == 0 && w->clashes == 0 && (tasks == 1 || w->nested_lanes == 0));
    CHECK(w->nested == (tasks + 99) / 100 * 5);
}

static void test_regions(int threads) {
    static work w;
    ox_set_threads(threads);
    CHECK(ox_threads() == threads);
    CHECK(oxi_lanes(0) == 1 && oxi_lanes(1) == 1 && oxi_lanes(TASKS) == threads);
    CHECK(threads == 1 || oxi_lanes(2) == 2);
    for (int round = 0; round < 20; round++) {
        check_region(&w, TASKS);
        check_region(&w, threads);
        check_region(&w, 2);
        check_region(&w, 0);
    }
    CHECK(threads == 1 || w.bad_lanes == 0);
}

static void test_lazy_start(void) {
#ifndef OX_NO_THREADS
    static work w;
    ox_set_threads(3);
    CHECK(oxi_workers == 0);
    oxi_parallel_for(1, nested_task, &w);
    CHECK(oxi_workers == 0);
    check_region(&w, TASKS);
    CHECK(oxi_workers == 2);
    ox_shutdown();
    CHECK(oxi_workers == 0);
    check_region(&w, TASKS);
    CHECK(oxi_workers == 2);
#endif
}

/* Regions one after the other with pauses, so that threads are found spinning, falling asleep and asleep. */
static void test_sleep(void) {
    static work w;
    ox_set_threads(4);
    for (int round = 0; round < 200; round++) {
        double until = oxi_now() + 1e-6 * (round % 20) * 5;
        check_region(&w, 8);
        while (oxi_now() < until) oxi_yield();
    }
}

/* The first error of any lane reaches the caller. */
static void test_errors_travel(void) {
    static work w;
    ox_set_threads(4);
    for (int round = 0; round < 20; round++) {
        memset(&w, 0, sizeof w);
        w.lanes = oxi_lanes(TASKS);
        w.fail_at = 1 + round * 47;
        ox_error_clear();
        oxi_parallel_for(TASKS, count_task, &w);
        CHECK(ox_error() == OX_ERR_INDEX);
        ox_error_clear();
        check_region(&w, TASKS);
        CHECK(ox_error() == OX_OK);
    }
}

/* ---- several callers ----------------------------------------------------------------------------------- */

#ifdef TEST_PTHREADS
static void *caller_main(void *arg) {
    work *w = (work *)arg;
    int64_t wrong = 0;
    for (int round = 0; round < 50; round++) {
        memset(w, 0, sizeof *w);
        w->lanes = oxi_lanes(TASKS);
        oxi_parallel_for(TASKS, count_task, w);
        for (int i = 0; i < TASKS; i++) wrong += w->done[i] != 1;
        wrong += w->clashes + w->bad_lanes;
        void *memory = oxi_alloc((size_t)round * 100);
        oxi_free(memory, (size_t)round * 100);
    }
    w->clashes = wrong;
    return NULL;
}

static void test_callers(void) {
    static work w[4];
    pthread_t thread[4];
    ox_set_threads(3);
    for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, caller_main, &w[i]);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 4; i++) CHECK(w[i].clashes == 0);
}

/* Threads of a host that meet the same prepacked weight: whoever packs it, all get the same. */
typedef struct shared_weight {
    ox_tensor *weight, *x, *expected;
    bool equal;
} shared_weight;

static void *product_main(void *arg) {
    shared_weight *s = (shared_weight *)arg;
    s->equal = true;
    for (int i = 0; i < 8; i++)
        OX_SCOPE { s->equal = ox_equal(s->expected, ox_linear(s->x, s->weight, NULL)) && s->equal; }
    return NULL;
}

static void test_prepacked(void) {
    shared_weight s[4];
    pthread_t thread[4];
    OX_SCOPE {
        ox_tensor *weight = ox_rand(OX_SHAPE(300, 200), OX_BF16), *x = ox_rand(OX_SHAPE(20, 200), OX_BF16);
        ox_tensor *expected = ox_linear(x, weight, NULL);
        CHECK(ox_prepack(weight, true) == OX_OK);
        for (int i = 0; i < 4; i++) {
            s[i].weight = weight;
            s[i].x = x;
            s[i].expected = expected;
            pthread_create(&thread[i], NULL, product_main, &s[i]);
        }
        for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
        for (int i = 0; i < 4; i++) CHECK(s[i].equal);
    }
    OX_SCOPE { /* more than one block of panels: of b alone, of a alone, of none */
        ox_tensor *a = ox_rand(OX_SHAPE(60, 20000), OX_F32), *b = ox_rand(OX_SHAPE(20000, 700), OX_F32);
        ox_tensor *expected = ox_matmul(a, b);
        for (int kept = 1; kept < 4; kept++) {
            CHECK(ox_prepack(a, kept & 1) == OX_OK && ox_prepack(b, kept >> 1) == OX_OK);
            for (int i = 0; i < 2; i++) CHECK(ox_equal(expected, ox_matmul(a, b)));
        }
    }
    size_t before = ox_stats().bytes_in_use;
    OX_SCOPE {
        ox_tensor *w = ox_rand(OX_SHAPE(200, 300), OX_F32), *x = ox_rand(OX_SHAPE(20, 300), OX_F32);
        for (int products = 0; products < 3; products++) { /* what the first one makes is all that is kept */
            CHECK(ox_prepack(w, true) == OX_OK);
            for (int i = 0; i < products; i++) OX_SCOPE { CHECK(ox_linear(x, w, NULL) != NULL); }
            size_t with = ox_stats().bytes_in_use;
            CHECK(ox_prepack(w, false) == OX_OK);
            size_t kept = with - ox_stats().bytes_in_use, panels = 200 * 300 * sizeof(float);
            CHECK_MSG(products ? kept >= panels && kept < 2 * panels : kept < panels / 2,
                      "%d products: %d bytes", products, (int)kept);
        }
    }
    CHECK(ox_stats().bytes_in_use == before);
}

/* The profiler goes on and off beside calls: what it notes is whole. */
static int64_t profiled_stop;

static void *profiled_main(void *arg) {
    int64_t *calls = (int64_t *)arg;
    while (oxi_atomic_load(&profiled_stop) == 0) OX_SCOPE {
            ox_tensor *x = ox_ones(OX_SHAPE(3, 4), OX_F32);
            if (ox_add(x, x) && ox_sum(x, OX_ALL_DIMS, false)) oxi_atomic_add(calls, 1);
        }
    return NULL;
}

static void test_profiler(void) {
    pthread_t thread[2];
    int64_t calls[2] = {0, 0}, wrong = 0;
    char table[4096], path[512];
    const char *folder = getenv("OX_TEST_TMP");
    snprintf(path, sizeof path, "%s/oxtorch-profile.json", folder ? folder : "/tmp");
    oxi_atomic_store(&profiled_stop, 0);
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, profiled_main, &calls[i]);
    for (int round = 0; round < 30 || !oxi_atomic_load(&calls[0]) || !oxi_atomic_load(&calls[1]); round++) {
        ox_profile_begin();
        OX_SCOPE { (void)ox_ones(OX_SHAPE(2), OX_F32); }
        if (round % 10 == 0) CHECK(ox_profile_trace(path) == OX_OK);
        ox_profile_end();
        (void)ox_profile_table(table, sizeof table);
        oxi_lock_take(&oxi_profile_lock);
        for (size_t i = 0; i < oxi_profile_count; i++)
            wrong += oxi_profile_records[i].seconds < 0 || oxi_profile_records[i].seconds > 100;
        oxi_lock_give(&oxi_profile_lock);
    }
    oxi_atomic_store(&profiled_stop, 1);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    CHECK_MSG(wrong == 0, "%lld records of no time", (long long)wrong);
    CHECK(ox_error() == OX_OK);
    (void)remove(path);
}

static void test_fork(void) {
#if defined(__SANITIZE_THREAD__)
    check_skip("fork", "the thread sanitizer does not follow threads made after a fork");
#else
    static work w;
    int code = 0;
    if (getenv("OX_TEST_EMULATED")) {
        check_skip("fork", "qemu-user starts no threads after a fork");
        return;
    }
    ox_set_threads(3);
    check_region(&w, TASKS);
    for (int round = 0; round < 5; round++) {
        pid_t child = fork();
        if (child == 0) {
            check_total.failed = 0;
            check_region(&w, TASKS);
            ox_set_threads(2);
            check_region(&w, TASKS);
            _exit(check_total.failed != 0);
        }
        CHECK(child > 0 && waitpid(child, &code, 0) == child && code == 0);
        check_region(&w, TASKS);
    }
#endif
}

/* A host job system: jobs on three threads of its own, or in a strange order, or some left out. */
typedef struct host_job {
    ox_task_fn task;
    void *arg;
    int64_t index;
} host_job;

static void *host_main(void *arg) {
    host_job *job = (host_job *)arg;
    job->task(job->arg, job->index);
    return NULL;
}

static void host_threads(void *user, int64_t count, ox_task_fn task, void *arg) {
    pthread_t thread[OXI_MAX_THREADS];
    host_job job[OXI_MAX_THREADS];
    (void)oxi_atomic_add((int64_t *)user, 1);
    for (int64_t i = 0; i < count; i++) {
        job[i].task = task;
        job[i].arg = arg;
        job[i].index = i;
        pthread_create(&thread[i], NULL, host_main, &job[i]);
    }
    for (int64_t i = 0; i < count; i++) pthread_join(thread[i], NULL);
}
#endif

static void host_backwards(void *user, int64_t count, ox_task_fn task, void *arg) {
    (void)oxi_atomic_add((int64_t *)user, 1);
    while (count-- > 0) task(arg, count);
}

static void host_lazy(void *user, int64_t count, ox_task_fn task, void *arg) {
    (void)oxi_atomic_add((int64_t *)user, 1);
    (void)count, (void)task, (void)arg;
}

static void test_host(ox_parallel_for_fn host) {
    static work w;
    int64_t calls = 0;
    ox_set_parallel_for(host, &calls);
    check_region(&w, TASKS);
    CHECK(calls == 1);
    check_region(&w, 1);
    CHECK(calls == 2);                                   /* the region inside the only task */
    memset(&w, 0, sizeof w);
    w.lanes = oxi_lanes(TASKS);
    w.fail_at = 500;
    oxi_parallel_for(TASKS, count_task, &w);
    CHECK(ox_error() == OX_ERR_INDEX);
    ox_error_clear();
    ox_set_parallel_for(NULL, NULL);
}

static void set_threads_task(void *arg, int64_t index, int lane) {
    (void)arg, (void)index, (void)lane;
    ox_set_threads(2);
}

int main(void) {
    ox_set_threads(0);
    CHECK(ox_threads() >= 1 && ox_threads() <= OXI_MAX_THREADS);
    ox_set_threads(100000);
    CHECK(ox_threads() == OXI_MAX_THREADS);
    test_lazy_start();
    static const int counts[] = {1, 2, 3, 8};
    for (int i = 0; i < 4; i++) test_regions(counts[i]);
    test_sleep();
    test_errors_travel();
    ox_set_threads(2);
    oxi_parallel_for(2, set_threads_task, NULL);         /* refused, not a deadlock */
#ifndef OX_NO_THREADS
    CHECK(ox_error() == OX_ERR_ARG);
#endif
    ox_error_clear();
    ox_set_threads(3);
    test_host(host_backwards);
    test_host(host_lazy);
#ifdef TEST_PTHREADS
    test_host(host_threads);
    test_callers();
    test_prepacked();
    test_profiler();
    test_fork();
#else
    check_skip("callers", "no POSIX threads here");
#endif
    ox_shutdown();
    CHECK(ox_stats().bytes_in_use == 0);
    return check_done("threads");
}
