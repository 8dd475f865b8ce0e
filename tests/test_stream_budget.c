/* test_stream_budget.c - the budget of a stream when nobody gives one: half of what is left, as a system
 * tells that is made of files, down to the least that a ring takes; and memory stays under a group's limit.
 * Tests internals. */
#include <stdio.h>
#include <stdlib.h>
#define OX_IMPLEMENTATION
#define OX_STATIC
#define OX_NO_SIMD /* no kernels are tested here: compile less */
#include "oxtorch.h"
#include "oxtorch_stream.h"

#include "check.h"
#include "most_memory.h"

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <sys/wait.h>

static char root[512];
static const size_t mib = 1 << 20;

/* A file of the made system, with the folders above it. */
static void put(const char *path, const char *format, ...) OXI_PRINTF(2, 3);
static void put(const char *path, const char *format, ...) {
    char whole[1024];
    va_list args;
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *p = whole + strlen(root) + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            (void)mkdir(whole, 0777);
            *p = '/';
        }
    FILE *file = fopen(whole, "w");
    va_start(args, format);
    CHECK(file && vfprintf(file, format, args) >= 0);
    va_end(args);
    if (file) fclose(file);
}

static void start_system(size_t available) {
    char command[1200];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", root, root);
    CHECK(system(command) == 0);
    put("/proc/meminfo", "MemTotal: 99999999 kB\nMemAvailable: %llu kB\n",
        (unsigned long long)available / 1024);
}

/* A group of version 2 with `used` bytes, of which `files` are pages of files that were not used lately. */
static void put_group(const char *group, size_t most, size_t used, size_t files) {
    char path[256];
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
    put(path, "%llu\n", (unsigned long long)most);
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.current", group);
    put(path, "%llu\n", (unsigned long long)used);
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.stat", group);
    put(path, "anon %llu\ninactive_file %llu\nactive_file 0\n", (unsigned long long)(used - files),
        (unsigned long long)files);
}

/* The budget, or 0 when none can be. */
static size_t budget(void) {
    ox_stream *stream = ox_stream_open(NULL);
    size_t bytes = stream ? stream->desc.ram_bytes : 0;
    if (stream) CHECK(ox_stream_get_stats(stream).ring_bytes <= bytes / 2 + 65536);
    ox_device_close(ox_stream_device(stream));
    return bytes;
}

static void test_half(void) {
    static const size_t left[] = {1, 8, 24, 32, 40, 56, 200, 256, 300, 511, 512, 700, 4096};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        start_system(left[i] * mib);
        CHECK_MSG(budget() == left[i] * mib / 2, "%d MiB left", (int)left[i]);
        start_system(64000 * mib);
        put("/proc/self/cgroup", "1:cpu:/\n0::/a/b\n");
        put_group("/a/b", (left[i] + 5) * mib, 5 * mib, 0);
        CHECK_MSG(budget() == left[i] * mib / 2, "%d MiB left in a group", (int)left[i]);
        put_group("/a", (left[i] + 3) * mib, 4 * mib, 0); /* tighter */
        CHECK(budget() == (left[i] - 1) * mib / 2);
        ox_error_clear(); /* of 1 MiB nothing is left */
        put_group("/a", (left[i] + 3) * mib, (left[i] + 3) * mib, left[i] * mib); /* full of pages of files */
        CHECK(budget() == left[i] * mib / 2);
    }
    start_system(64000 * mib);
    put("/proc/self/cgroup", "4:memory:/old\n3:cpu:/\n");
    put("/sys/fs/cgroup/memory/old/memory.limit_in_bytes", "%d\n", 50 << 20);
    put("/sys/fs/cgroup/memory/old/memory.usage_in_bytes", "%d\n", 30 << 20);
    put("/sys/fs/cgroup/memory/old/memory.stat",
        "inactive_file 1\ntotal_inactive_file %d\ntotal_active_file %d\n", 8 << 20, 4 << 20);
    CHECK(budget() == 15 * mib);
    CHECK(ox_error() == OX_OK);
}

/* Less than the least ring: words. */
static void test_nothing_left(void) {
    start_system(64000 * mib);
    put("/proc/self/cgroup", "0::/\n");
    put_group("", 10 * mib, 10 * mib, 0);
    CHECK(budget() == 0 && ox_error() == OX_ERR_ARG && strstr(ox_error_text(), "needs a budget of"));
    ox_error_clear();
}

/* The limits of the process itself. */
static void test_own_limits(void) {
    struct rlimit usual, few;
    start_system(64000 * mib);
    put("/proc/self/statm", "%llu 1 1 1 0 10 0\n", 100ull * mib / (unsigned long long)sysconf(_SC_PAGESIZE));
    CHECK(getrlimit(RLIMIT_AS, &usual) == 0);
    few = usual;
    few.rlim_cur = (rlim_t)700 * mib;
    CHECK(setrlimit(RLIMIT_AS, &few) == 0);
    CHECK(budget() == 300 * mib);
    CHECK(setrlimit(RLIMIT_AS, &usual) == 0);
}

/* A child computes with a file of several times its group's limit, and its memory stays below that. */
static void use_group(const char *path, size_t limit, int64_t count) {
    int64_t used = most_memory();
    start_system(64000 * mib);
    put("/proc/self/cgroup", "0::/\n");
    put_group("", limit, (size_t)used, 0);
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.spill = root;
    ox_stream *stream = ox_stream_open(&desc);
    OX_SCOPE {
        ox_tensor *x = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(count / 4096, 4096));
        for (int i = 0; i < 2; i++) CHECK(ox_item(ox_sum(x, OX_ALL_DIMS, false)) == (double)count);
        ox_tensor *y = ox_mul_number(x, 2);
        CHECK(y && ox_item(ox_sum(y, OX_ALL_DIMS, false)) == 2.0 * (double)count);
        CHECK(ox_matmul(ox_narrow(x, 0, 0, 2), ox_t(x)) != NULL);
        CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
        (void)ox_softmax(ox_t(x), -1); /* may be too large as a whole */
        CHECK(ox_error() == OX_OK || ox_error() == OX_ERR_NOMEM);
    }
    ox_device_close(ox_stream_device(stream));
    CHECK_MSG(most_memory() <= (int64_t)limit, "limit %d MiB: %d before, %d at most", (int)(limit / mib),
              (int)(used / (int64_t)mib), (int)(most_memory() / (int64_t)mib));
}

static void test_groups(void) {
    static const size_t limits[] = {24, 32, 40, 56};
    const int64_t count = (int64_t)32 << 18; /* 32 MiB, and twice that with the result */
    static float ones[4096];
    char path[600];
    snprintf(path, sizeof path, "%s.raw", root);
    for (int i = 0; i < 4096; i++) ones[i] = 1;
    FILE *file = fopen(path, "wb");
    for (int64_t i = 0; file && i < count; i += 4096) CHECK(fwrite(ones, sizeof ones, 1, file) == 1);
    CHECK(file && fclose(file) == 0);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            check_total.failed = 0;
            use_group(path, limits[i] * mib, count);
            fflush(stdout);
            _exit(check_total.failed != 0);
        }
        int status = 0;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    remove(path);
}

int main(void) {
    char command[600];
    const char *temporary = getenv("OX_TEST_TMP");
    snprintf(root, sizeof root, "%s/oxtorch-system", temporary ? temporary : "/tmp");
    oxi_system_root = root;
    if (most_memory() > 0)
        test_groups();
    else
        check_skip("memory in a group", "the system does not tell how much there is");
    test_half();
    test_nothing_left();
    test_own_limits();
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK(system(command) == 0);
    return check_done("stream_budget");
}

#else

int main(void) {
    check_skip("budgets of streams", "a sanitizer takes the memory, or it is not Linux");
    return check_done("stream_budget");
}

#endif
