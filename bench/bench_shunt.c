/* bench_shunt.c - the planner beside what bounds it: a pass through layers in files, beside the disk's own
 * speed, computing in RAM and a stream within the same budget; what it costs to keep a call.
 *
 *     bench_shunt [--layers 48] [--width 2048] [--tokens 16] [--memory MIB, 256] [--rounds 3]
 *                 [--folder PATH] [--trace PATH]
 *     bench_shunt --calls N        only keeps N calls of few bytes (perf stat -e instructions:u)
 *     bench_shunt --calls N --eager 1                                         the same calls, run at once
 *
 * The disk's speed is that of a plain loop: threads that read the layers' files past the page cache, in
 * pieces of 1 MiB, the best of 4, 8 and 16, right before and after each pass. eta is the longer of computing
 * in RAM and of what the pass read at that speed, over its wall time: nothing in it is the planner's own
 * measurement. */
#define _GNU_SOURCE
#include "bench.h"
#include "oxtorch_stream.h"

#ifdef __linux__
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LAYERS_MOST = 512, READERS_MOST = 16, PIECE = 1 << 20 };

typedef struct options {
    long layers, width, tokens, memory, rounds, calls, eager;
    const char *folder, *trace;
} options;

static bool read_options(options *o, int argc, char **argv) {
    const options usual = {48, 2048, 16, 256, 3, 0, 0, "/tmp", NULL};
    *o = usual;
    struct {
        const char *name, **text;
        long *number;
    } known[] = {
        {"--layers", NULL, &o->layers}, {"--width", NULL, &o->width},   {"--tokens", NULL, &o->tokens},
        {"--memory", NULL, &o->memory}, {"--rounds", NULL, &o->rounds}, {"--calls", NULL, &o->calls},
        {"--eager", NULL, &o->eager},   {"--folder", &o->folder, NULL}, {"--trace", &o->trace, NULL}};
    for (int i = 1; i + 1 < argc; i += 2) {
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(argv[i], known[k].name) != 0) k++;
        if (k == sizeof known / sizeof *known) return false;
        if (known[k].text) *known[k].text = argv[i + 1];
        if (known[k].number) *known[k].number = strtol(argv[i + 1], NULL, 10);
    }
    return argc % 2 == 1 && o->layers > 0 && o->layers <= LAYERS_MOST && o->width > 0 && o->tokens > 0;
}

static const char *layer_path(const options *o, long i) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/bench-shunt-%ld.safetensors", o->folder, i);
    return path;
}

static bool write_layers(const options *o) {
    const char *name = "weight";
    for (long i = 0; i < o->layers; i++)
        OX_SCOPE {
            ox_tensor *w = ox_mul_number(ox_randn(OX_SHAPE(o->width, o->width), OX_F32), 0.02);
            if (ox_save_safetensors(layer_path(o, i), &name, &w, 1, NULL, 0, 0) != OX_OK) return false;
            int file = open(layer_path(o, i), O_RDWR);
            if (file < 0 || fsync(file) != 0) return false;
            posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
            close(file);
        }
    return true;
}

/* ---- the disk by itself -------------------------------------------------------------------------------- */

typedef struct reading {
    const options *o;
    int file[LAYERS_MOST];
    long layer, bytes_each, done, place;
    char *block;
    long long total;
    pthread_mutex_t lock;
} reading;

/* Into all of the block in turn, as a pass fills its budget: a buffer that stays in the processor's cache
 * would read faster than anything that is to be computed with. */
static void *read_pieces(void *argument) {
    reading *r = (reading *)argument;
    for (;;) {
        pthread_mutex_lock(&r->lock);
        long layer = r->layer, at = r->done;
        char *memory = r->block + r->place;
        r->place = (r->place + PIECE) % (r->o->memory << 20);
        r->done += PIECE;
        if (r->done >= r->bytes_each) {
            r->done = 0;
            r->layer++;
        }
        pthread_mutex_unlock(&r->lock);
        if (layer >= r->o->layers) break;
        ssize_t got = pread(r->file[layer], memory, PIECE, at);
        if (got <= 0) break;
        __atomic_fetch_add(&r->total, got, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Bytes a second, with so many reads at once. */
static double disk_speed_of(const options *o, int readers) {
    static reading r;
    pthread_t thread[READERS_MOST];
    char *block = r.block;
    memset(&r, 0, sizeof r);
    r.block = block;
    if (!block && posix_memalign((void **)&r.block, 2 << 20, (size_t)o->memory << 20) != 0) exit(1);
    if (!block) {
        madvise(r.block, (size_t)o->memory << 20, MADV_HUGEPAGE); /* as the planner's and a stream's */
        memset(r.block, 1, (size_t)o->memory << 20);
    }
    r.o = o;
    r.bytes_each = o->width * o->width * 4;
    pthread_mutex_init(&r.lock, NULL);
    for (long i = 0; i < o->layers; i++) r.file[i] = open(layer_path(o, i), O_RDONLY | O_DIRECT);
    double start = bench_now();
    for (int i = 0; i < readers; i++) pthread_create(&thread[i], NULL, read_pieces, &r);
    for (int i = 0; i < readers; i++) pthread_join(thread[i], NULL);
    double seconds = bench_now() - start;
    for (long i = 0; i < o->layers; i++) close(r.file[i]);
    return (double)r.total / seconds;
}

static double disk_speed(const options *o) {
    double best = 0;
    for (int readers = 1; readers <= READERS_MOST; readers *= 2) {
        double speed = disk_speed_of(o, readers);
        if (speed > best) best = speed;
    }
    return best;
}

/* ---- a pass -------------------------------------------------------------------------------------------- */

static double run_pass(const options *o, ox_tensor *const *weight, ox_tensor *x, float *sum) {
    double start = bench_now();
    OX_SCOPE {
        ox_tensor *h = x;
        for (long i = 0; i < o->layers; i++) h = ox_linear_act(h, weight[i], NULL, OX_ACTIVATION_GELU);
        *sum = (float)ox_item(ox_sum(h, OX_ALL_DIMS, false));
    }
    return bench_now() - start;
}

/* One layer's weights in RAM, over and over: what computing takes. */
static double compute_seconds(const options *o, ox_tensor *x) {
    ox_tensor *few[LAYERS_MOST];
    double best = 1e9;
    float sum;
    OX_SCOPE {
        ox_tensor *w[8];
        for (int i = 0; i < 8; i++)
            w[i] = ox_mul_number(ox_randn(OX_SHAPE(o->width, o->width), OX_F32), 0.02);
        for (long i = 0; i < o->layers; i++) few[i] = w[i % 8];
        for (int i = 0; i < 3; i++) {
            double seconds = run_pass(o, few, x, &sum);
            if (seconds < best) best = seconds;
        }
    }
    return best;
}

static bool open_layers(const options *o, ox_device *device, ox_tensor **weight) {
    for (long i = 0; i < o->layers; i++) {
        ox_file *file = ox_file_open(layer_path(o, i), device);
        weight[i] = file ? ox_file_tensor(file, "weight") : NULL;
        ox_file_close(file);
        if (!weight[i]) return false;
    }
    return true;
}

static void measure_forward(const options *o, ox_shunt *shunt, ox_stream *stream) {
    static ox_tensor *far[LAYERS_MOST], *streamed[LAYERS_MOST];
    ox_tensor *x = ox_randn(OX_SHAPE(o->tokens, o->width), OX_F32), *far_x = ox_to(x, ox_shunt_device(shunt));
    float sum, stream_sum;
    if (!open_layers(o, ox_shunt_device(shunt), far) || !open_layers(o, ox_stream_device(stream), streamed))
        return;
    double computing = compute_seconds(o, x), all = (double)o->layers * (double)(o->width * o->width) * 4;
    printf("%ld layers of %ldx%ld, %.0f MB, a budget of %ld MiB, %ld tokens: computing takes %.1f ms\n",
           o->layers, o->width, o->width, all / 1e6, o->memory, o->tokens, 1e3 * computing);
    run_pass(o, far, far_x, &sum); /* planned, measured, revised */
    run_pass(o, far, far_x, &sum);
    run_pass(o, streamed, x, &stream_sum);
    for (long i = 0; i < o->rounds && !ox_error(); i++) {
        double disk = disk_speed(o);
        ox_shunt_stats before = ox_shunt_get_stats(shunt);
        double wall = run_pass(o, far, far_x, &sum);
        ox_shunt_stats s = ox_shunt_get_stats(shunt);
        double read = (double)(s.read_bytes - before.read_bytes), after = disk_speed(o);
        if (after > disk) disk = after;
        double bound = read / disk > computing ? read / disk : computing;
        double other = run_pass(o, streamed, x, &stream_sum);
        printf(
            "disk %.2f GB/s; %.1f ms, %.0f MB read, bound %.1f ms, eta %.3f (of all that does not fit %.3f, "
            "simulated %.1f, own eta %.2f); stream %.1f ms, %.2f of it; same bits %s\n",
            disk / 1e9, 1e3 * wall, read / 1e6, 1e3 * bound, bound / wall,
            ((all - (double)(o->memory << 20)) / disk > computing ? (all - (double)(o->memory << 20)) / disk
                                                                  : computing) /
                wall,
            1e3 * s.simulated_seconds, s.eta, 1e3 * other, wall / other, sum == stream_sum ? "yes" : "no");
    }
}

/* ---- keeping calls ------------------------------------------------------------------------------------- */

static void measure_calls(const options *o, ox_shunt *shunt) {
    ox_tensor *x = ox_to(ox_ones(OX_SHAPE(4, 4), OX_F32), o->eager ? ox_cpu() : ox_shunt_device(shunt));
    double keeping = 0, start;
    for (long done = 0; done < o->calls; done += 1000) { /* steps of 1000 calls */
        start = bench_now();
        OX_SCOPE {
            for (int i = 0; i < 1000; i++) (void)ox_add(x, x);
            keeping += bench_now() - start;
            if (!o->eager && ox_device_sync(ox_shunt_device(shunt)) != OX_OK) return;
        }
    }
    printf("%ld calls %s: %.3f us each\n", o->calls, o->eager ? "run at once" : "kept",
           1e6 * keeping / (double)o->calls);
}

int main(int argc, char **argv) {
    options o;
    if (!read_options(&o, argc, argv)) {
        fprintf(stderr, "bench_shunt [--layers N] [--width N] [--tokens N] [--memory MIB] [--rounds N] "
                        "[--folder PATH] [--calls N] [--eager 1]\n");
        return 2;
    }
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = o.calls ? 0 : (uint64_t)o.memory << 20;
    desc.spill = o.folder;
    desc.trace = o.trace;
    ox_stream_desc other;
    memset(&other, 0, sizeof other);
    other.ram_bytes = (size_t)o.memory << 20;
    other.spill = o.folder;
    ox_shunt *shunt = ox_shunt_open(&desc);
    ox_stream *stream = o.calls ? NULL : ox_stream_open(&other);
    OX_SCOPE {
        if (o.calls)
            measure_calls(&o, shunt);
        else if (shunt && stream && write_layers(&o))
            measure_forward(&o, shunt, stream);
    }
    if (ox_error()) fprintf(stderr, "bench_shunt: %s\n", ox_error_text());
    for (long i = 0; i < o.layers && !o.calls; i++) remove(layer_path(&o, i));
    if (stream) (void)ox_device_close(ox_stream_device(stream));
    ox_shunt_close(shunt);
    return ox_error() != OX_OK;
}
#else
int main(void) {
    puts("bench_shunt: for Linux");
    return 0;
}
#endif
