/* test_stream_insight.c - what a stream tells about itself and chooses: tiles and depth that suit the disk,
 * progress, lanes of the trace, the budget that nobody gave. */
#include "stream_check.h"

#include <math.h>
#include <time.h>

static char path[320];

/* ---- tiles that suit the disk -------------------------------------------------------------------------- */

typedef struct slow_disk {
    double seconds; /* of a transfer */
    int64_t transfers;
} slow_disk;

static int64_t wait_a_while(void *user, int64_t number, int64_t bytes) {
    slow_disk *disk = (slow_disk *)user;
    struct timespec t;
    t.tv_sec = 0;
    t.tv_nsec = (long)(1e9 * disk->seconds);
    (void)number;
    __atomic_add_fetch(&disk->transfers, 1, __ATOMIC_ACQ_REL);
    if (disk->seconds > 0) nanosleep(&t, NULL);
    return bytes;
}

/* 40 MiB twice: the second operation finds other tiles if the first one's came slowly. Same numbers. */
static ox_stream_stats run_on(const stream_case *c, double seconds, size_t tile, int depth) {
    slow_disk disk = {seconds, 0};
    ox_stream_desc desc = case_desc(c);
    desc.ram_bytes = (size_t)1 << 30;
    desc.tile_bytes = tile;
    desc.depth = depth;
    desc.result_bytes = 0;
    desc.queue = 1;
    desc.fault = wait_a_while;
    desc.fault_user = &disk;
    ox_stream *stream = ox_stream_open(&desc);
    OX_SCOPE {
        ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(10 << 20));
        for (int i = 0; i < 3; i++) {
            ox_tensor *sum = ox_sum(far, OX_ALL_DIMS, false);
            CHECK_MSG(sum && ox_item(sum) == 1.5 * (10 << 20), "%s", ox_error_text());
        }
    }
    ox_stream_stats s = ox_stream_get_stats(stream);
    CHECK(s.bandwidth > 0 && s.latency >= seconds && disk.transfers > 0);
    ox_device_close(ox_stream_device(stream));
    return s;
}

/* The tile is what comes in 16 ms, or in two latencies: 4 to 16 MiB, 8 where that is near. However busy the
 * machine was meanwhile. */
static bool tile_suits(const ox_stream_stats *s) {
    const double mib = 1 << 20, seconds = s->latency > 0.008 ? 2 * s->latency : 0.016;
    double wanted = fmin(fmax(s->bandwidth * seconds, 4 * mib), 16 * mib), tile = (double)s->tile_bytes;
    bool near = wanted >= 6 * mib - 4096 && wanted <= 32 * mib / 3 + 4096, same = fabs(tile - wanted) <= 4096;
    if (!same && !(near && tile == 8 * mib))
        printf("  %g bytes at %.0f MB/s, %.1f ms\n", tile, s->bandwidth / 1e6, 1e3 * s->latency);
    return same || (near && tile == 8 * mib);
}

static void test_pace(const stream_case *c) {
    const size_t mib = (size_t)1 << 20;
    ox_stream_stats slow = run_on(c, 0.02, 0, 0), fast = run_on(c, 0, 0, 0);
    CHECK(tile_suits(&slow) && tile_suits(&fast) && slow.latency >= 0.02 && slow.bandwidth < 60e6);
    CHECK(slow.depth >= 3 && fast.depth >= 3);
    ox_stream_stats fixed = run_on(c, 0.005, 3 * mib, 5);
    CHECK(fixed.tile_bytes == 3 * mib && fixed.depth == 5);
    CHECK(fixed.ring_bytes >= 30 * mib && fixed.ring_bytes < 32 * mib);
}

/* ---- progress and traces ------------------------------------------------------------------------------- */

typedef struct steps {
    int64_t calls, last, tiles, bytes;
    bool in_order;
} steps;

static void count_step(void *user, int64_t tile, int64_t tiles, int64_t bytes) {
    steps *s = (steps *)user;
    s->in_order = s->in_order && tile == s->last + 1 && tile <= tiles && bytes >= s->bytes;
    s->calls++;
    s->last = tile == tiles ? 0 : tile;
    s->tiles = tiles;
    s->bytes = bytes;
}

static bool has(const char *text, const char *word) {
    return strstr(text, word) != NULL;
}

static void test_progress(const stream_case *c) {
    steps s = {0, 0, 0, 0, true};
    ox_stream_desc desc = case_desc(c);
    char trace[340];
    desc.ram_bytes = (size_t)32 << 20;
    desc.tile_bytes = (size_t)1 << 20;
    desc.result_bytes = 0;
    desc.progress = count_step;
    desc.progress_user = &s;
    ox_stream *stream = ox_stream_open(&desc);
    ox_profile_begin();
    OX_SCOPE {
        ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(10 << 20));
        CHECK(ox_item(ox_sum(far, OX_ALL_DIMS, false)) == 1.5 * (10 << 20));
    }
    ox_profile_end();
    CHECK_MSG(s.calls == s.tiles && s.calls >= 40 && s.in_order && s.bytes == (int64_t)40 << 20,
              "%lld calls, %lld tiles, %d, %lld bytes", (long long)s.calls, (long long)s.tiles,
              (int)s.in_order, (long long)s.bytes);
    CHECK(ox_stream_get_stats(stream).tiles == s.calls);
    ox_device_close(ox_stream_device(stream));
    snprintf(trace, sizeof trace, "%s.json", path);
    CHECK(ox_profile_trace(trace) == OX_OK);
    FILE *file = fopen(trace, "rb");
    static char text[1 << 20];
    size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[bytes] = 0;
    CHECK(has(text, "\"name\":\"disk\"") && has(text, "\"name\":\"ring\""));
    CHECK(has(text, "\"name\":\"compute\""));
    CHECK(has(text, "\"name\":\"transfer\",\"cat\":\"disk\",\"ph\":\"b\"") && has(text, "\"ph\":\"e\""));
    CHECK(has(text, "\"name\":\"tile\"") && has(text, "\"name\":\"wait\"") && has(text, "\"name\":\"sum\""));
    CHECK(bytes > 3 && strcmp(text + bytes - 3, "]}\n") == 0 && !has(text, "\"ts\":-"));
    char table[4096];
    CHECK(ox_profile_table(table, sizeof table) > 0 && has(table, "sum") && !has(table, "abs"));
    remove(trace);
}

/* A description of zeros: a budget of some of the memory there is, and a folder that can be written to. */
static void test_defaults(void) {
    ox_stream *stream = ox_stream_open(NULL);
    CHECK_MSG(stream != NULL, "%s", ox_error_text());
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(1000), OX_F32, 1), *far = ox_to(x, ox_stream_device(stream));
        CHECK(far && same_bits(ox_relu(far), ox_relu(x)));
    }
    ox_stream_stats s = ox_stream_get_stats(stream);
    CHECK(s.tile_bytes >= 16384 && s.depth >= 3 && s.ring_bytes > 0);
    ox_device_close(ox_stream_device(stream));
}

int main(void) {
    check_cases();
    stream_case c = case_at(1);
    snprintf(path, sizeof path, "%s/oxtorch-insight.raw", c.folder);
    static float block[1 << 18];
    for (int i = 0; i < 1 << 18; i++) block[i] = (float)(i % 8 - 2);
    FILE *file = fopen(path, "wb");
    for (int i = 0; i < 40 && file; i++) CHECK(fwrite(block, sizeof block, 1, file) == 1);
    CHECK(file && fclose(file) == 0);
    test_pace(&c);
    for (int i = 0; i < 2; i++) {
        c = case_at(i);
        test_progress(&c);
    }
    test_defaults();
    remove(path);
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("stream_insight");
}
