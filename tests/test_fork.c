/* test_fork.c - children of a fork: everything works that lies in memory, whatever other threads were at, and
 * what lives in threads or in the kernel (streams, GPU devices) is an error in words. Nothing hangs, and the
 * parent goes on as if nothing had been.
 * A child that hangs is ended by its alarm. */
#include "check.h"
#include "oxtorch_stream.h"
#include "oxtorch_vulkan.h"

#include <stdlib.h>
#include <string.h>

#if defined(__unix__) && !defined(OX_NO_THREADS) && !defined(OX_NO_STDIO)
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 40, CHILD_SECONDS = 60 };

static char folder[256], file_path[320];
static ox_tensor *weights; /* of a block type; the threads' own copies are repacked and put back */

/* 0: what the child found was right; else the line where it was not. */
typedef int (*child_fn)(void);
#define WANT(condition) \
    if (!(condition)) return __LINE__

static void run_child(const char *what, child_fn function) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        ox_error_clear();
        int line = function();
        if (line) fprintf(stderr, "child, line %d: %s\n", line, ox_error_text());
        _exit(line != 0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: %s", what,
              WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "the child hung" : "the child failed");
}

/* ---- what works ---------------------------------------------------------------------------------------- */

static double product(void) {
    double result = -1;
    OX_SCOPE {
        ox_tensor *a = ox_ones(OX_SHAPE(200, 200), OX_F32),
                  *sum = ox_sum(ox_matmul(a, a), OX_ALL_DIMS, false);
        if (sum) result = ox_item(sum);
    }
    return result;
}

static int child_computes(void) {
    WANT(product() == 8e6);
    ox_set_threads(3);
    WANT(product() == 8e6 && ox_error() == OX_OK);
    ox_shutdown();
    WANT(product() == 8e6);
    return 0;
}

static int child_reads_files(void) {
    ox_file *file = ox_file_open(file_path, NULL);
    ox_tensor *t = ox_file_tensor_at(file, 0), *sum = ox_sum(t, OX_ALL_DIMS, false);
    WANT(sum && ox_item(sum) == 5000);
    ox_release(sum);
    ox_release(t);
    ox_file_close(file);
    WANT(product() == 8e6);
    return 0;
}

static int child_uses_weights(void) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(1, 256), OX_F32);
        WANT(ox_linear(x, weights, NULL) != NULL);
        ox_tensor *plain = ox_cast(weights, OX_F32);
        WANT(plain && ox_item(ox_amin(plain, OX_ALL_DIMS, false)) == 127);
        WANT(ox_item(ox_amax(plain, OX_ALL_DIMS, false)) == 127);
    }
    return 0;
}

static int child_opens_stream(void) {
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.ram_bytes = 4 << 20;
    desc.spill = folder;
    ox_stream *stream = ox_stream_open(&desc);
    ox_file *file = ox_file_open(file_path, ox_stream_device(stream));
    ox_tensor *t = ox_file_tensor_at(file, 0), *sum = ox_sum(t, OX_ALL_DIMS, false);
    WANT(sum && ox_item(sum) == 5000);
    ox_release(sum);
    ox_release(t);
    ox_file_close(file);
    ox_device_close(ox_stream_device(stream));
    return 0;
}

/* ---- streams of the parent ----------------------------------------------------------------------------- */

static ox_stream *stream;
static ox_file *streamed_file;
static ox_tensor *streamed, *spilled;

static bool told(void) {
    bool right = ox_error() == OX_ERR_DEVICE && strstr(ox_error_text(), "before a fork") != NULL;
    if (right) ox_error_clear();
    return right;
}

static int child_uses_old_stream(void) {
    ox_device *device = ox_stream_device(stream);
    ox_tensor *one = ox_ones(OX_SHAPE(3), OX_F32);
    WANT(!ox_sum(streamed, OX_ALL_DIMS, false) && told());
    WANT(!ox_sum(spilled, OX_ALL_DIMS, false) && told());
    WANT(!ox_to(streamed, ox_cpu()) && told());
    WANT(!ox_to(one, device) && told());
    WANT(!ox_copy_(spilled, ox_ones(OX_SHAPE(100, 100), OX_F32)) && told());
    WANT(!ox_file_tensor_at(streamed_file, 0) && told());
    WANT(!ox_file_open(file_path, device) && told());
    WANT(!ox_stream_raw(stream, file_path, 0, OX_U8, OX_SHAPE(8)) && told());
    WANT(!ox_stream_named(stream, "fork-child", OX_F32, OX_SHAPE(8)) && told());
    WANT(ox_stream_get_stats(stream).calls == 0);
    ox_release(spilled);
    ox_release(streamed);
    ox_file_close(streamed_file);
    ox_device_close(ox_stream_device(stream));
    WANT(ox_error() == OX_OK && product() == 8e6);
    return child_opens_stream();
}

static void open_stream(ox_stream_reading reading) {
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.ram_bytes = 4 << 20;
    desc.result_bytes = 1;
    desc.spill = folder;
    desc.reading = reading;
    stream = ox_stream_open(&desc);
    streamed_file = ox_file_open(file_path, ox_stream_device(stream));
    streamed = ox_file_tensor_at(streamed_file, 0);
    OX_SCOPE {
        spilled = ox_retain(ox_to(ox_ones(OX_SHAPE(100, 100), OX_F32), ox_stream_device(stream)));
    }
    CHECK_MSG(streamed && spilled, "%s", ox_error_text());
}

static double stream_sums(void) {
    double sums = 0;
    OX_SCOPE {
        ox_tensor *a = ox_sum(streamed, OX_ALL_DIMS, false), *b = ox_sum(spilled, OX_ALL_DIMS, false);
        if (a && b) sums = ox_item(a) + ox_item(b);
    }
    return sums;
}

static void close_stream(void) {
    ox_release(streamed);
    ox_release(spilled);
    ox_file_close(streamed_file);
    ox_device_close(ox_stream_device(stream));
}

static int64_t busy_stop;

static void *busy_stream(void *arg) {
    (void)arg;
    while (!__atomic_load_n(&busy_stop, __ATOMIC_ACQUIRE)) (void)stream_sums();
    return NULL;
}

static void check_streams(void) {
    for (int reading = 0; reading < 2; reading++) {
        open_stream(reading ? OX_STREAM_THREADS : OX_STREAM_BEST);
        CHECK(stream_sums() == 15000);
        run_child("a stream of the parent", child_uses_old_stream);
        CHECK(stream_sums() == 15000);
        pthread_t thread;
        busy_stop = 0;
        CHECK(pthread_create(&thread, NULL, busy_stream, NULL) == 0);
        for (int i = 0; i < FORKS / 2; i++) run_child("a stream that is at work", child_uses_old_stream);
        __atomic_store_n(&busy_stop, 1, __ATOMIC_RELEASE);
        pthread_join(thread, NULL);
        CHECK(stream_sums() == 15000);
        close_stream();
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
}

/* ---- other threads at work ----------------------------------------------------------------------------- */

typedef void (*busy_fn)(void);

static void busy_product(void) {
    (void)product();
}
static void busy_tensors(void) {
    OX_SCOPE {
        for (int i = 0; i < 100; i++) (void)ox_ones(OX_SHAPE(1 + i % 7), OX_F32);
    }
    ox_trim();
}
static void busy_files(void) {
    ox_file *file = ox_file_open(file_path, NULL);
    ox_release(ox_file_tensor_at(file, 0));
    ox_file_close(file);
}
static void busy_weights(void) {
    OX_SCOPE {
        ox_tensor *own = ox_clone(weights), *x = ox_ones(OX_SHAPE(1, 256), OX_F32);
        for (int i = 0; i < 4; i++) {
            (void)ox_prepack(own);
            (void)ox_linear(x, own, NULL);
            (void)ox_cast(own, OX_F32);
        }
    }
}
static void busy_panels(void) {
    OX_SCOPE {
        ox_tensor *w = ox_ones(OX_SHAPE(64, 64), OX_F32), *x = ox_ones(OX_SHAPE(20, 64), OX_F32);
        (void)ox_prepack(w);
        for (int i = 0; i < 10; i++) (void)ox_linear(x, w, NULL);
    }
}
static void busy_profile(void) {
    char table[2000];
    ox_profile_begin();
    busy_tensors();
    ox_profile_end();
    (void)ox_profile_table(table, sizeof table);
}
static void log_nothing(void *user, ox_log_level level, const char *text) {
    (void)user, (void)level, (void)text;
}
static void busy_log(void) {
    ox_set_log(log_nothing, NULL, OX_LOG_INFO);
    (void)ox_file_open("/nowhere", NULL);
    ox_error_clear();
    ox_set_log(NULL, NULL, OX_LOG_NONE);
}

static void *busy(void *arg) {
    busy_fn *function = (busy_fn *)arg;
    while (!__atomic_load_n(&busy_stop, __ATOMIC_ACQUIRE)) (*function)();
    return NULL;
}

static void check_busy_threads(void) {
    static busy_fn at_work[] = {busy_product, busy_tensors, busy_files, busy_weights,
                                busy_panels,  busy_profile, busy_log};
    static const child_fn children[] = {child_computes, child_reads_files, child_uses_weights};
    for (size_t i = 0; i < sizeof at_work / sizeof *at_work; i++) {
        pthread_t threads[2];
        char what[64];
        snprintf(what, sizeof what, "beside busy threads of kind %d", (int)i);
        busy_stop = 0;
        for (int t = 0; t < 2; t++) CHECK(pthread_create(&threads[t], NULL, busy, &at_work[i]) == 0);
        for (int round = 0; round < FORKS && check_total.failed == 0; round++)
            run_child(what, children[round % 3]);
        __atomic_store_n(&busy_stop, 1, __ATOMIC_RELEASE);
        for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
    }
}

/* ---- a GPU --------------------------------------------------------------------------------------------- */

static ox_device *gpu;
static ox_tensor *on_gpu;

static int child_uses_gpu(void) {
    float numbers[3];
    WANT(!ox_add(on_gpu, on_gpu) && told());
    WANT(!ox_to(on_gpu, ox_cpu()) && told());
    WANT(ox_to_data(on_gpu, numbers, sizeof numbers) != OX_OK && told());
    WANT(!ox_vulkan(0) && told());
    WANT(ox_vulkan_count() == 0 && ox_device_sync(gpu) != OX_OK && told());
    WANT(ox_device_close(gpu) != OX_OK && told());
    ox_release(on_gpu);
    ox_shutdown();
    WANT(ox_error() == OX_OK && product() == 8e6);
    return 0;
}

static void check_gpu(void) {
    gpu = ox_vulkan(0);
    if (!gpu) {
        check_skip("fork beside a GPU", ox_error_text());
        ox_error_clear();
        return;
    }
    OX_SCOPE {
        on_gpu = ox_retain(ox_to(ox_ones(OX_SHAPE(3), OX_F32), gpu));
    }
    run_child("a GPU of the parent", child_uses_gpu);
    OX_SCOPE {
        CHECK(ox_item(ox_sum(ox_add(on_gpu, on_gpu), OX_ALL_DIMS, false)) == 6);
    }
    ox_release(on_gpu);
    CHECK(ox_device_close(gpu) == OX_OK);
}

int main(void) {
    const char *temporary = getenv("OX_TEST_TMP");
    if (getenv("OX_TEST_EMULATED")) {
        check_skip("fork", "qemu-user starts no threads after a fork");
        return check_done("fork");
    }
    snprintf(folder, sizeof folder, "%s", temporary ? temporary : ".");
    snprintf(file_path, sizeof file_path, "%s/oxtorch-fork.npy", folder);
    OX_SCOPE {
        CHECK(ox_save_npy(file_path, ox_ones(OX_SHAPE(50, 100), OX_F32)) == OX_OK);
        weights = ox_retain(ox_cast(ox_full(OX_SHAPE(256, 256), 127, OX_F32), OX_Q8_0));
    }
    CHECK(product() == 8e6);
    run_child("nothing else", child_computes);
    run_child("a new stream", child_opens_stream);
    OX_SCOPE {
        ox_tensor *t = ox_ones(OX_SHAPE(3), OX_F32);
        run_child("inside a scope", child_computes);
        CHECK(ox_item(ox_sum(t, OX_ALL_DIMS, false)) == 3);
    }
    check_streams();
    check_busy_threads();
    check_gpu();
    ox_release(weights);
    remove(file_path);
    return check_done("fork");
}

#else

int main(void) {
    check_skip("fork", "no fork or no threads here");
    return check_done("fork");
}

#endif
