/* stream_relu.c - an operation over a file of any size, with a fixed amount of memory.
 *
 * Shows   ox_stream_open with a budget, a raw file as a tensor, a result that is made on the disk, a bar that
 *         tells how far an operation is, what the stream has counted, the most memory that the library had.
 * build   cc -O2 examples/stream_relu.c -I. -o stream_relu -lm -lpthread   (bar.h, options.h beside it)
 * run     ./stream_relu [MIB] [MEMORY] [FOLDER]
 * refuses 0 => stream_relu: MIB wants a whole number from 1 to 2^24 (0)
 * prints
 *     64 MiB of f32, 16 MiB of memory
 *     relu: 16777216 numbers, 8388608 of them 0, sum 4194304
 *     within the budget: yes
 */
#define OX_IMPLEMENTATION
#include "oxtorch_stream.h"

#include "bar.h"
#include "options.h"

static const char help[] = "usage: stream_relu [MIB] [MEMORY] [FOLDER]\n"
                           "an operation over a file of any size, with a fixed amount of memory\n"
                           "\n"
                           "  MIB           the size of the file that is made, 64\n"
                           "  MEMORY        MiB of memory that the stream may use, 16\n"
                           "  FOLDER        where the file and the result go, $TMPDIR or /tmp\n"
                           "  --help, -h    this text\n"
                           "\n"
                           "example: stream_relu 1000 32 /var/tmp\n";

/* int64_t */
static bool read_mib(const char *text, void *out) {
    return read_whole(text, out) && *(int64_t *)out >= 1 && *(int64_t *)out <= 1 << 24;
}

/* A file of f32, half of them above 0. */
static bool write_numbers(const char *path, int64_t count) {
    static float block[1 << 16];
    const float four[4] = {0.5f, -1, 0.5f, -0.25f};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) block[i] = four[i % 4];
    FILE *file = fopen(path, "wb");
    bool done = file != NULL;
    for (int64_t at = 0; done && at < count; at += 1 << 16) done = fwrite(block, sizeof block, 1, file) == 1;
    if (file && fclose(file) != 0) done = false;
    return done;
}

/* A bar for each operation of many tiles. */
static void show_progress(void *user, int64_t tile, int64_t tiles, int64_t bytes) {
    bar *b = (bar *)user;
    (void)bytes;
    b->all = tiles;
    if (tiles >= 40) bar_show(b, tile);
}

static void run(ox_stream *stream, const char *path, int64_t count) {
    OX_SCOPE {
        ox_tensor *x = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(count)); /* nothing is read yet */
        ox_tensor *y = ox_relu(x);                                              /* in the spill file */
        ox_tensor *zeros = ox_sum(ox_eq(y, ox_number(0)), OX_ALL_DIMS, false);
        ox_tensor *sum = ox_sum(y, OX_ALL_DIMS, false);
        printf("relu: %lld numbers, %lld of them 0, sum %.0f\n", (long long)ox_numel(y),
               (long long)ox_item_int(zeros), ox_item(sum));
    }
}

int main(int count, char **words) {
    int64_t mib = 64, ram = 16;
    const char *folder = getenv("TMPDIR"), *wants = "wants a whole number from 1 to 2^24";
    const option plain[] = {{"MIB", read_mib, &mib, wants},
                            {"MEMORY", read_mib, &ram, wants},
                            {"FOLDER", read_text, &folder, "wants a path"}};
    const command_line stream_relu = {"stream_relu", help, NULL, 0, plain, 3};
    if (!options_read(&stream_relu, count, words)) return 2;
    char path[1024];
    bar progress = {0, 0};
    snprintf(path, sizeof path, "%s/stream_relu.raw", folder ? folder : "/tmp");
    if (!write_numbers(path, mib << 18)) {
        fprintf(stderr, "stream_relu: cannot write %lld MiB to %s\n", (long long)mib, path);
        return 1;
    }
    printf("%lld MiB of f32, %lld MiB of memory\n", (long long)mib, (long long)ram);
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.ram_bytes = (size_t)ram << 20;
    desc.spill = folder;
    desc.progress = show_progress;
    desc.progress_user = &progress;
    ox_stream *stream = ox_stream_open(&desc);
    if (stream) run(stream, path, mib << 18);
    const ox_stream_stats s = ox_stream_get_stats(stream);
    fprintf(stderr, "%.1f MB read, %.1f MB from RAM, %.1f MB written, %lld tiles, waited %.3f s, %s\n",
            (double)s.disk_bytes / 1e6, (double)s.ram_bytes / 1e6, (double)s.written_bytes / 1e6,
            (long long)s.tiles, s.stall_seconds, s.uring ? "io_uring" : "threads");
    printf("within the budget: %s\n", ox_memory_get_stats().bytes_peak <= desc.ram_bytes ? "yes" : "no");
    ox_device_close(ox_stream_device(stream));
    remove(path);
    if (ox_error()) fprintf(stderr, "stream_relu: %s\n", ox_error_text());
    return ox_error() != OX_OK;
}
