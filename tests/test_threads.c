/* test_threads.c - the thread pool: every task once, lanes apart, nesting, several callers, host jobs, fork.
 * OX_TSAN OX_QEMU: tests internals. */
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

/* ---- whose pool it is ---------------------------------------------------------------------------------- */

static int64_t holder_state;             /* 1: a task of the holder's region runs; 2: it may end */

static void holder_task(void *arg, int64_t index, int lane) {
    (void)arg, (void)index, (void)lane;
    (void)oxi_atomic_cas(&holder_state, 0, 1);
    while (oxi_atomic_load(&holder_state) != 2) oxi_yield();
}

static void *holder_main(void *arg) {
    oxi_parallel_for(2, holder_task, arg);
    return NULL;
}

enum { LET_GO_AT = 5, MEETING = 3 };     /* threads that meet; as many as there are */

typedef struct late_work {
    int64_t done[LET_GO_AT + 1 + MEETING], inside, met, alone;
} late_work;

/* Lets the pool go in the middle of the region; the tasks behind that wait for each other, one a thread. */
static void late_task(void *arg, int64_t index, int lane) {
    late_work *w = (late_work *)arg;
    (void)oxi_atomic_add(&w->done[index], 1);
    if (index <= LET_GO_AT && lane == 0) (void)oxi_atomic_add(&w->alone, 1);
    if (index == LET_GO_AT) {
        oxi_atomic_store(&holder_state, 2);
        while (oxi_atomic_load(&oxi_pool_lock.state) != 0) oxi_yield();
    }
    if (index <= LET_GO_AT) return;
    double until = oxi_now() + 5;
    (void)oxi_atomic_add(&w->inside, 1);
    while (oxi_atomic_load(&w->inside) < MEETING && oxi_now() < until) oxi_yield();
    if (oxi_atomic_load(&w->inside) == MEETING) (void)oxi_atomic_add(&w->met, 1);
}

/* A region that found the pool taken has all threads as soon as it is free. */
static void test_late_pool(void) {
    ox_set_threads(MEETING);
    for (int round = 0; round < 10 && check_total.failed == 0; round++) {
        late_work w;
        pthread_t thread;
        oxi_region_counts before = oxi_regions;
        memset(&w, 0, sizeof w);
        oxi_atomic_store(&holder_state, 0);
        pthread_create(&thread, NULL, holder_main, NULL);
        while (oxi_atomic_load(&holder_state) != 1) oxi_yield();
        oxi_parallel_for(LET_GO_AT + 1 + MEETING, late_task, &w);
        pthread_join(thread, NULL);
        int64_t wrong = 0;
        for (int i = 0; i < LET_GO_AT + 1 + MEETING; i++) wrong += w.done[i] != 1;
        CHECK(wrong == 0 && w.alone == LET_GO_AT + 1 && w.met == MEETING);
        CHECK(oxi_regions.later == before.later + 1 && oxi_regions.never == before.never);
        CHECK(oxi_atomic_load(&oxi_pool_claims) == 0);
    }
}

/* Long calls beside a thread of many short ones. A long region has a second of work for one thread, which
 * need not be done once another thread helps: the pool comes to it, or it ends as one that never had it. */
enum { LONG_TASKS = 50000 };

typedef struct long_work {
    int64_t done, helped;
} long_work;

static int64_t short_stop, short_regions;

static void short_task(void *arg, int64_t index, int lane) {
    (void)arg, (void)index, (void)lane;
    double until = oxi_now() + 5e-6;
    while (oxi_now() < until) oxi_pause();
}

static void *short_main(void *arg) {
    while (oxi_atomic_load(&short_stop) == 0) {
        oxi_parallel_for(4, short_task, arg);
        (void)oxi_atomic_add(&short_regions, 1);
    }
    return NULL;
}

static void long_task(void *arg, int64_t index, int lane) {
    long_work *w = (long_work *)arg;
    (void)index;
    (void)oxi_atomic_add(&w->done, 1);
    if (lane != 0) oxi_atomic_store(&w->helped, 1);
    double until = oxi_now() + 20e-6;
    while (oxi_atomic_load(&w->helped) == 0 && oxi_now() < until) oxi_pause();
}

static void test_long_beside_short(void) {
    pthread_t thread;
    oxi_region_counts before = oxi_regions;
    enum { ROUNDS = 30 };
    ox_set_threads(2);
    oxi_atomic_store(&short_stop, 0);
    oxi_atomic_store(&short_regions, 0);
    pthread_create(&thread, NULL, short_main, NULL);
    while (oxi_atomic_load(&short_regions) < 10) oxi_yield();
    for (int round = 0; round < ROUNDS && oxi_regions.never == before.never; round++) {
        long_work w = {0, 0};
        oxi_parallel_for(LONG_TASKS, long_task, &w);
        CHECK(w.done == LONG_TASKS && w.helped);
    }
    oxi_atomic_store(&short_stop, 1);
    pthread_join(thread, NULL);
    CHECK(oxi_regions.at_once + oxi_regions.later == before.at_once + before.later + ROUNDS);
    CHECK(oxi_regions.never == before.never && oxi_atomic_load(&oxi_pool_claims) == 0);
}

/* The same with operations: products find the pool taken by a data loader, and get it nevertheless. Not every
 * one, as the system may take the processor from the loader for longer than a product lasts. */
static void *loader_main(void *arg) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(500, 500), OX_F32), *sum = ox_empty_like(x);
        while (oxi_atomic_load(&short_stop) == 0)
            if (ox_copy_(sum, x) && ox_add_(sum, x)) (void)oxi_atomic_add(&short_regions, 1);
    }
    return arg;
}

static void test_product_beside_loader(void) {
    pthread_t thread;
    int got = 0;
    ox_set_threads(2);
    oxi_atomic_store(&short_stop, 0);
    oxi_atomic_store(&short_regions, 0);
    pthread_create(&thread, NULL, loader_main, NULL);
    while (oxi_atomic_load(&short_regions) < 2) oxi_yield();
    OX_SCOPE {
        ox_tensor *a = ox_rand(OX_SHAPE(256, 256), OX_F32), *b = ox_rand(OX_SHAPE(256, 256), OX_F32);
        for (int round = 0; round < 1000 && got < 2; round++) OX_SCOPE {
                int64_t before = oxi_regions.later;
                CHECK(ox_matmul(a, b) != NULL);
                got += oxi_regions.later > before;
            }
    }
    oxi_atomic_store(&short_stop, 1);
    pthread_join(thread, NULL);
    CHECK_MSG(got == 2, "%d products got the pool that they found taken", got);
}

/* The limit is the thread's own, and who has it takes no pool. */
static void *limited_main(void *arg) {
    static work w;
    int *wrong = (int *)arg;
    *wrong += ox_thread_limit() != 0 || oxi_lanes(TASKS) != 3;
    ox_set_thread_limit(2);
    *wrong += ox_thread_limit() != 2 || oxi_lanes(TASKS) != 2 || ox_threads() != 3;
    check_region(&w, TASKS);
    *wrong += oxi_regions.at_once + oxi_regions.later + oxi_regions.never != 1;
    ox_set_thread_limit(1);
    *wrong += oxi_lanes(TASKS) != 1;
    check_region(&w, TASKS);
    *wrong += oxi_regions.at_once + oxi_regions.later + oxi_regions.never != 1;
    ox_set_thread_limit(100);
    *wrong += oxi_lanes(TASKS) != 3;
    ox_set_thread_limit(-1);
    *wrong += ox_thread_limit() != 0 || oxi_lanes(TASKS) != 3;
    return NULL;
}

static void test_limit(void) {
    int wrong = 0;
    pthread_t thread;
    ox_set_threads(3);
    pthread_create(&thread, NULL, limited_main, &wrong);
    pthread_join(thread, NULL);
    CHECK(wrong == 0 && ox_thread_limit() == 0 && oxi_lanes(TASKS) == 3);
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
        CHECK(ox_prepack(weight) == OX_OK);
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
            CHECK((kept & 1 ? ox_prepack(a) : ox_unpack(a)) == OX_OK);
            CHECK((kept >> 1 ? ox_prepack(b) : ox_unpack(b)) == OX_OK);
            for (int i = 0; i < 2; i++) CHECK(ox_equal(expected, ox_matmul(a, b)));
        }
    }
    size_t before = ox_memory_get_stats().bytes_in_use;
    OX_SCOPE {
        ox_tensor *w = ox_rand(OX_SHAPE(200, 300), OX_F32), *x = ox_rand(OX_SHAPE(20, 300), OX_F32);
        for (int products = 0; products < 3; products++) { /* what the first one makes is all that is kept */
            CHECK(ox_prepack(w) == OX_OK);
            for (int i = 0; i < products; i++) OX_SCOPE { CHECK(ox_linear(x, w, NULL) != NULL); }
            size_t with = ox_memory_get_stats().bytes_in_use;
            CHECK(ox_unpack(w) == OX_OK);
            size_t kept = with - ox_memory_get_stats().bytes_in_use, panels = 200 * 300 * sizeof(float);
            CHECK_MSG(products ? kept >= panels && kept < 2 * panels : kept < panels / 2,
                      "%d products: %d bytes", products, (int)kept);
        }
    }
    CHECK(ox_memory_get_stats().bytes_in_use == before);
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
    test_late_pool();
    test_long_beside_short();
    test_product_beside_loader();
    test_limit();
    test_prepacked();
    test_profiler();
    test_fork();
#else
    check_skip("callers", "no POSIX threads here");
#endif
    ox_shutdown();
    CHECK(ox_memory_get_stats().bytes_in_use == 0);
    return check_done("threads");
}
