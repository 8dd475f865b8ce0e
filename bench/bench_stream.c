/* bench_stream.c - how fast tensors of files are computed: a sum and a relu over a file of f32, and a
 * language model whose weights stay on the disk.
 *
 *     bench_stream FILE [--ram MIB] [--spill FOLDER] [--work sum,relu,spill] [--threads N]
 *     bench_stream MODEL.gguf [--ram MIB] [-p 128] [-n 8] [--threads N]        --ram 0: in memory, no stream
 *     with both, to try what the stream chooses itself: [--queue N] [--depth N] [--tile KIB]
 *
 * Works: sum (read), relu (read, results of 64 MiB in RAM), spill (read, and the whole result written to the
 * spill file). One line a measurement: its name, seconds, bytes read and written, bytes taken from RAM,
 * seconds of waiting and of computing; at the end the most memory that the process had. bench/peers/stream.py
 * puts these figures beside what the disk can do. Without a file it says so and ends well. */
#include "../tests/most_memory.h"
#include "bench.h"
#include "oxtorch_llm.h"
#include "oxtorch_stream.h"

#include <sys/stat.h>

typedef struct options {
    const char *file, *spill, *work;
    long ram, prompt, steps, threads, queue, depth, tile;
} options;

static bool read_options(options *o, int argc, char **argv) {
    memset(o, 0, sizeof *o);
    o->work = "sum,relu,spill";
    o->ram = 1024;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        struct {
            const char *name, **text;
            long *number;
        } known[] = {
            {"--spill", &o->spill, NULL}, {"--work", &o->work, NULL},   {"--ram", NULL, &o->ram},
            {"-p", NULL, &o->prompt},     {"-n", NULL, &o->steps},      {"--threads", NULL, &o->threads},
            {"--queue", NULL, &o->queue}, {"--depth", NULL, &o->depth}, {"--tile", NULL, &o->tile},
        };
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(argv[i], known[k].name) != 0) k++;
        if (k == sizeof known / sizeof *known && argv[i][0] == '-') return false;
        if (k == sizeof known / sizeof *known) {
            o->file = argv[i];
            continue;
        }
        if (known[k].text) *known[k].text = value;
        if (known[k].number) *known[k].number = strtol(value, NULL, 10);
        i++;
    }
    return o->ram >= 0 && o->prompt >= 0 && o->steps >= 0 && o->threads >= 0;
}

/* Begins and ends one measurement: what the stream counted in between, on one line. */
typedef struct timed {
    ox_stream_stats before;
    double start;
} timed;

static timed begin(ox_stream *stream) {
    timed t;
    t.before = ox_stream_get_stats(stream);
    t.start = bench_now();
    return t;
}

static void end(const timed *t, ox_stream *stream, const char *what, long count) {
    const double seconds = bench_now() - t->start;
    const ox_stream_stats s = ox_stream_get_stats(stream), *b = &t->before;
    printf("%s %ld seconds %.4f read %lld written %lld ram %lld waited %.3f computed %.3f kept %lld\n", what,
           count, seconds, (long long)(s.disk_bytes - b->disk_bytes),
           (long long)(s.written_bytes - b->written_bytes), (long long)(s.ram_bytes - b->ram_bytes),
           s.stall_seconds - b->stall_seconds, s.compute_seconds - b->compute_seconds,
           (long long)s.kept_bytes);
    fflush(stdout);
}

/* ---- a file of f32 ------------------------------------------------------------------------------------- */

static bool relu_by_pieces(ox_tensor *x) {
    const int64_t piece = 16 << 20, count = ox_numel(x);
    for (int64_t at = 0; at < count; at += piece)
        OX_SCOPE {
            if (!ox_relu(ox_narrow(x, 0, at, count - at < piece ? count - at : piece))) return false;
        }
    return true;
}

static bool run_work(ox_stream *stream, ox_tensor *x, const char *work) {
    bool ok = false;
    timed t = begin(stream);
    OX_SCOPE {
        if (strcmp(work, "sum") == 0) ok = ox_sum(x, OX_ALL_DIMS, false) != NULL;
        else if (strcmp(work, "relu") == 0) ok = relu_by_pieces(x);
        else if (strcmp(work, "spill") == 0) ok = ox_relu(x) != NULL;
    }
    end(&t, stream, work, 1);
    return ok;
}

static bool measure_file(const options *o, ox_stream *stream) {
    struct stat info;
    char works[256];
    bool ok = stat(o->file, &info) == 0;
    ox_tensor *x = ok ? ox_stream_raw(stream, o->file, 0, OX_F32, OX_SHAPE(info.st_size / 4)) : NULL;
    snprintf(works, sizeof works, "%s", o->work);
    ok = x != NULL;
    for (char *work = strtok(works, ","); ok && work; work = strtok(NULL, ","))
        ok = run_work(stream, x, work);
    ox_release(x);
    return ok;
}

/* ---- a model ------------------------------------------------------------------------------------------- */

static bool run_model(const options *o, ox_stream *stream, ox_llm *model, ox_llm_context *context) {
    const int64_t vocabulary = ox_llm_get_config(model)->vocabulary;
    int32_t *tokens = (int32_t *)malloc((size_t)(o->prompt + o->steps + 1) * sizeof *tokens);
    float *logits = (float *)malloc((size_t)vocabulary * sizeof *logits);
    bool ok = tokens && logits;
    for (long i = 0; ok && i < o->prompt + o->steps; i++) tokens[i] = (int32_t)(i * 7919 % vocabulary);
    timed t;
    for (int i = 0; ok && o->prompt && i < 2; i++) { /* twice: the first one fills the memory */
        t = begin(stream);
        ok = ox_llm_rewind(context, 0) == OX_OK && ox_llm_decode(context, tokens, o->prompt, logits) == OX_OK;
        if (ok) end(&t, stream, "prompt", o->prompt);
    }
    for (long i = 0; ok && i < o->steps; i++) { /* each alone: the first one fills the memory */
        t = begin(stream);
        ok = ox_llm_decode_one(context, tokens[o->prompt + i], logits) == OX_OK;
        if (ok) end(&t, stream, "new", 1);
    }
    free(logits);
    free(tokens);
    return ok;
}

static bool measure_model(const options *o, ox_stream *stream) {
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.capacity = o->prompt + o->steps;
    desc.cache = OX_F16;
    ox_llm *model = ox_llm_open(o->file, stream ? ox_stream_device(stream) : NULL);
    ox_llm_context *context = model ? ox_llm_context_open(model, &desc) : NULL;
    bool ok = context && run_model(o, stream, model, context);
    ox_llm_context_close(context);
    ox_llm_close(model);
    return ok;
}

int main(int argc, char **argv) {
    options o;
    if (!read_options(&o, argc, argv)) {
        fprintf(stderr, "bench_stream FILE|MODEL.gguf [--ram MIB] [--spill FOLDER] [--work sum,relu,spill] "
                        "[-p 128] [-n 8] [--threads N]\n");
        return 2;
    }
    if (!o.file) {
        puts("bench_stream: no file was given");
        return 0;
    }
    ox_set_threads((int)o.threads);
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.ram_bytes = (size_t)o.ram << 20;
    desc.tile_bytes = (size_t)o.tile << 10;
    desc.depth = (int)o.depth;
    desc.queue = (int)o.queue;
    desc.spill = o.spill;
    ox_stream *stream = o.ram ? ox_stream_open(&desc) : NULL;
    bool ok = stream || !o.ram;
    if (ok) ok = o.prompt + o.steps > 0 ? measure_model(&o, stream) : measure_file(&o, stream);
    if (!ok) fprintf(stderr, "bench_stream: %s\n", ox_error_text());
    const ox_stream_stats s = ox_stream_get_stats(stream);
    if (stream)
        fprintf(stderr, "tiles of %llu KiB, %d on their way, disk %.0f MB/s, latency %.2f ms\n",
                (unsigned long long)s.tile_bytes / 1024, s.depth, s.bandwidth / 1e6, 1e3 * s.latency);
    printf("memory %lld\n", (long long)most_memory());
    ox_device_close(ox_stream_device(stream));
    return ok ? 0 : 1;
}
