/* test_stream_memory.c - memory stays under the budget while tensors of five times the budget are computed:
 * the most that the process ever had, as the system counts it. */
#include "most_memory.h"
#include "stream_check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_IS_DOUBLED 1
#endif

enum { MIB = 1 << 20, RAM = 24 * MIB, SLACK = 64 * MIB };

/* f32 numbers that are easy to add up: i % 8 - 2. */
static void write_numbers(const char *path, int64_t count) {
    static float block[1 << 15];
    for (int i = 0; i < 1 << 15; i++) block[i] = (float)(i % 8 - 2);
    FILE *file = fopen(path, "wb");
    for (int64_t at = 0; file && at < count; at += 1 << 15) CHECK(fwrite(block, sizeof block, 1, file) == 1);
    CHECK(file && fclose(file) == 0);
}

static void run(ox_stream *stream, const char *path, int64_t count) {
    const int64_t rows = count / 1024;
    OX_SCOPE {
        ox_tensor *x = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(count));
        CHECK(ox_item(ox_sum(x, OX_ALL_DIMS, false)) == 1.5 * (double)count);
        ox_tensor *y = ox_relu(x);
        CHECK(y && ox_device_of(y) == ox_stream_device(stream));
        CHECK(ox_item(ox_sum(y, OX_ALL_DIMS, false)) == 15.0 / 8 * (double)count);
        CHECK(ox_item(ox_amax(ox_add(x, y), OX_ALL_DIMS, false)) == 10);
        ox_tensor *w = ox_view(x, OX_SHAPE(rows, 1024)), *ones = ox_ones(OX_SHAPE(3, 1024), OX_F32);
        ox_tensor *z = ox_linear(ones, w, NULL);
        CHECK(z && ox_item(ox_amin(z, OX_ALL_DIMS, false)) == 1536);
        z = ox_cast(w, OX_F16);
        CHECK(z &&
              ox_item(ox_sum(ox_cast(ox_narrow(z, 0, rows - 1, 1), OX_F32), OX_ALL_DIMS, false)) == 1536);
        z = ox_softmax(w, -1);
        CHECK(z && ox_stream_get_stats(stream).whole_loads == 0);
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_error_clear();
}

int main(void) {
    check_cases();
    const int64_t count = 5 * (int64_t)RAM / 4;
    for (int i = 0; i < 2; i++) {
        stream_case c = case_at(i);
        c.ram_bytes = RAM;
        c.tile_bytes = MIB;
        c.result_bytes = 2 * MIB;
        char path[320];
        snprintf(path, sizeof path, "%s/oxtorch-memory.raw", c.folder);
        write_numbers(path, count);
        int64_t before = most_memory();
        ox_stream *stream = case_open(&c);
        run(stream, path, count);
        CHECK(ox_memory_get_stats().bytes_peak <= RAM);
        ox_device_close(ox_stream_device(stream));
        remove(path);
        int64_t most = most_memory();
#ifdef MEMORY_IS_DOUBLED
        (void)before, (void)most;
        check_skip("most memory", "a sanitizer needs more");
#else
        if (most == 0)
            check_skip("most memory", "the system does not tell");
        else
            CHECK_MSG(most <= before + RAM + SLACK, "%lld MiB at most, %lld before", (long long)most / MIB,
                      (long long)before / MIB);
        printf("most memory: %lld MiB, %lld before\n", (long long)most / MIB, (long long)before / MIB);
#endif
    }
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("stream_memory");
}
