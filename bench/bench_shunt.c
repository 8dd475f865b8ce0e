/* bench_shunt.c - the planner beside what bounds it: a pass through a model in files, beside the disk's own
 * speed, that of a plain copy, computing in RAM, and a stream within the same budget; what it costs to keep a
 * call.
 *
 *     bench_shunt [--layers 48] [--width 2048] [--tokens 16] [--memory MIB, 256] [--host MIB, 0]
 *                 [--rounds 3] [--folder PATH] [--trace PATH] [--plan PATH] [--keep 1]
 *                 [--stream 0]
 *     bench_shunt --model 1 ..     a language model of 7 billion parameters, f16, with its 32 layers 14.5 GB.
 *                                  --keep 1 leaves the files there and takes them up again
 *     bench_shunt --bf16 1 ..      the same in bf16, what is computed as well (f16: computed in f32)
 *     bench_shunt --bare 1 ..      passes alone, and nothing else in memory (bench/peers/offload.py)
 *     bench_shunt --vulkan 1 ..    computing on a GPU
 *     bench_shunt --graphs N [--seed S]  random graphs of real calls: what the plan predicted, by the wall;
 *                                  --trace and --plan write those of the last one
 *     bench_shunt --calls N        only keeps N calls of few bytes (perf stat -e instructions:u)
 *     bench_shunt --calls N --eager 1                                         the same calls, run at once
 *
 * The disk's speed is that of a plain loop: threads that read the files past the page cache, the best of 4,
 * 8 and 16 of them in pieces of 1 MiB of one file after the other, and of 16 and 64 in pieces of 4 and 8 MiB
 * of all files at once, 1 GB each, right before and after each pass; beside it the fastest of all passes so
 * far, and 16 readers of 4 MiB over as many bytes as fit no budget, before and after. A copy's is that of
 * memcpy between blocks of 256 MiB, with --vulkan of pinned memory to the GPU. eta is the longest of computing
 * in RAM, of what fits no budget at the disk's speed and of what the host's budget holds (with --vulkan all
 * but what stays on the GPU) at a copy's, over the wall time: nothing in it is the planner's own
 * measurement. */
#define _GNU_SOURCE
#include "bench.h"
#include "oxtorch_stream.h"
#include "oxtorch_vulkan.h"

#ifdef __linux__
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAYERS_MOST = 512, READERS_MOST = 64, PIECE = 1 << 20, PARTS_MOST = 9 };

typedef struct options {
    long layers, width, tokens, memory, host, rounds, calls, eager, model, keep, stream, graphs, seed, vulkan;
    long bare, bf16;
    const char *folder, *trace, *plan;
} options;

static bool read_options(options *o, int argc, char **argv) {
    const options usual = {48, 2048, 16, 256, 0, 3, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, "/tmp", NULL, NULL};
    *o = usual;
    struct {
        const char *name, **text;
        long *number;
    } known[] = {
        {"--layers", NULL, &o->layers}, {"--width", NULL, &o->width},   {"--tokens", NULL, &o->tokens},
        {"--memory", NULL, &o->memory}, {"--rounds", NULL, &o->rounds}, {"--calls", NULL, &o->calls},
        {"--eager", NULL, &o->eager},   {"--host", NULL, &o->host},     {"--model", NULL, &o->model},
        {"--keep", NULL, &o->keep},     {"--stream", NULL, &o->stream}, {"--folder", &o->folder, NULL},
        {"--trace", &o->trace, NULL},   {"--plan", &o->plan, NULL},     {"--graphs", NULL, &o->graphs},
        {"--seed", NULL, &o->seed},     {"--vulkan", NULL, &o->vulkan}, {"--bare", NULL, &o->bare},
        {"--bf16", NULL, &o->bf16}};
    bool layers = false;
    for (int i = 1; i + 1 < argc; i += 2) {
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(argv[i], known[k].name) != 0) k++;
        if (k == sizeof known / sizeof *known) return false;
        if (known[k].text) *known[k].text = argv[i + 1];
        if (known[k].number) *known[k].number = strtol(argv[i + 1], NULL, 10);
        layers = layers || k == 0;
    }
    if (o->model && !layers) o->layers = 32;
    return argc % 2 == 1 && o->layers > 0 && o->layers < LAYERS_MOST && o->width > 0 && o->tokens > 0;
}

/* ---- models in files: a file a layer, and one for what is before and behind them ----------------------- */

typedef struct part {
    const char *name;
    int64_t rows, columns; /* rows 0: one number a column */
} part;

enum { NORM_A, QUERY, KEY, VALUE, OUT, NORM_B, GATE, UP, DOWN };
enum { EMBEDDING, NORM_LAST, LOGITS };
enum { DIM = 4096, KEYS = 1024, HIDDEN = 14336, WORDS = 32000, HEAD = 128 };
static const part layer_parts[PARTS_MOST] = {
    {"norm_a", 0, DIM}, {"query", DIM, DIM},   {"key", KEYS, DIM},  {"value", KEYS, DIM}, {"out", DIM, DIM},
    {"norm_b", 0, DIM}, {"gate", HIDDEN, DIM}, {"up", HIDDEN, DIM}, {"down", DIM, HIDDEN}};
static const part outer_parts[3] = {{"embedding", WORDS, DIM}, {"norm", 0, DIM}, {"logits", WORDS, DIM}};

static part part_of(const options *o, long file, int k) {
    const part square = {"weight", o->width, o->width};
    return !o->model ? square : file < o->layers ? layer_parts[k] : outer_parts[k];
}

static int part_count(const options *o, long file) {
    return !o->model ? 1 : file < o->layers ? PARTS_MOST : 3;
}

static long file_count(const options *o) {
    return o->layers + (o->model != 0);
}

static long long model_bytes(const options *o) {
    long long bytes = 0;
    for (long f = 0; f < file_count(o); f++)
        for (int k = 0; k < part_count(o, f); k++) {
            part one = part_of(o, f, k);
            bytes += (one.rows ? one.rows : 1) * one.columns * (o->model ? 2 : 4);
        }
    return bytes;
}

static const char *file_path(const options *o, long i) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/bench-shunt-%ld.safetensors", o->folder, i);
    return path;
}

static ox_tensor *make_part(const options *o, part one) {
    ox_dtype dtype = !o->model ? OX_F32 : o->bf16 ? OX_BF16 : OX_F16;
    if (one.rows == 0) return ox_ones(OX_SHAPE(one.columns), dtype);
    return ox_mul_number(ox_randn(OX_SHAPE(one.rows, one.columns), dtype), 0.02);
}

/* Onto the disk and out of the page cache. */
static bool settle(const char *path) {
    int file = open(path, O_RDWR);
    bool good = file >= 0 && fsync(file) == 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0;
    if (file >= 0) close(file);
    return good;
}

/* Layers of the language model have the numbers of the first one: random ones take longer than the disk. */
static bool write_copy(const options *o, long file) {
    enum { BLOCK = 4 << 20 };
    char *block = malloc(BLOCK), from[1024];
    snprintf(from, sizeof from, "%s", file_path(o, 0));
    FILE *in = fopen(from, "rb"), *out = fopen(file_path(o, file), "wb");
    bool good = block && in && out;
    for (size_t got; good && (got = fread(block, 1, BLOCK, in)) > 0;)
        good = fwrite(block, 1, got, out) == got;
    if (in) fclose(in);
    if (out) good = fclose(out) == 0 && good;
    free(block);
    return good;
}

static bool write_model(const options *o) {
    struct stat there;
    if (o->keep && stat(file_path(o, file_count(o) - 1), &there) == 0) return true;
    for (long f = 0; f < file_count(o); f++)
        OX_SCOPE {
            const char *names[PARTS_MOST];
            ox_tensor *parts[PARTS_MOST];
            int count = part_count(o, f);
            bool copy = o->model && f > 0 && f < o->layers;
            for (int k = 0; k < count && !copy; k++) {
                names[k] = part_of(o, f, k).name;
                parts[k] = make_part(o, part_of(o, f, k));
            }
            if (copy ? !write_copy(o, f)
                     : ox_save_safetensors(file_path(o, f), names, parts, count, NULL, 0, 0) != OX_OK)
                return false;
            if (!settle(file_path(o, f))) return false;
        }
    return true;
}

/* ---- the disk and memory by themselves ----------------------------------------------------------------- */

typedef struct reading {
    const options *o;
    int file[LAYERS_MOST + 1];
    long long bytes[LAYERS_MOST + 1], done, left, total;
    long at, place, room;
    long piece;       /* bytes of a read */
    long long spread; /* reads of all files in turn, so many yet; -1: of one after the other */
    char *block;
    pthread_mutex_t lock;
} reading;

/* Into all of the block in turn, as a pass fills its budget: a buffer that stays in the processor's cache
 * would read faster than anything that is to be computed with. */
static void *read_pieces(void *argument) {
    reading *r = (reading *)argument;
    for (;;) {
        pthread_mutex_lock(&r->lock);
        const long files = file_count(r->o);
        long at = r->spread < 0 ? r->at : (long)(r->spread % files);
        long long from = r->spread < 0 ? r->done : r->spread / files * r->piece;
        char *memory = r->block + r->place;
        bool over = r->left <= 0 || at >= files;
        r->place = (r->place + r->piece) % r->room;
        r->left -= r->piece;
        r->done += r->piece;
        if (r->spread >= 0) r->spread++;
        if (r->spread < 0 && at < files && r->done + r->piece > r->bytes[at]) {
            r->done = 0;
            r->at++;
        }
        pthread_mutex_unlock(&r->lock);
        if (over) break;
        if (r->spread >= 0) from = r->bytes[at] > r->piece ? from % (r->bytes[at] / r->piece * r->piece) : 0;
        ssize_t got = pread(r->file[at], memory, (size_t)r->piece, from);
        if (got <= 0) break;
        __atomic_fetch_add(&r->total, got, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Bytes a second, with so many reads at once, of so many bytes from a layer that moves on; spread: of all
 * files at once, as the planner has several under way. */
static double disk_speed_of(const options *o, int readers, long piece, bool spread, long long bytes) {
    static reading r;
    static long long behind; /* bytes that were read so */
    static long next;
    pthread_t thread[READERS_MOST];
    char *block = r.block;
    memset(&r, 0, sizeof r);
    r.room = (o->memory < 1024 ? o->memory : 1024) / 8 * 8 << 20;
    r.piece = piece;
    r.spread = spread ? behind / piece : -1;
    r.block = block;
    if (!block && posix_memalign((void **)&r.block, 2 << 20, (size_t)r.room) != 0) exit(1);
    if (!block) {
        madvise(r.block, (size_t)r.room, MADV_HUGEPAGE); /* as the planner's and a stream's */
        memset(r.block, 1, (size_t)r.room);
    }
    r.o = o;
    r.left = bytes;
    if (r.left < model_bytes(o)) r.at = next++ * 7 % (o->layers / 2 + 1);
    pthread_mutex_init(&r.lock, NULL);
    for (long i = 0; i < file_count(o); i++) {
        struct stat info;
        r.file[i] = open(file_path(o, i), O_RDONLY | O_DIRECT);
        r.bytes[i] = r.file[i] >= 0 && fstat(r.file[i], &info) == 0 ? (long long)info.st_size : 0;
    }
    double start = bench_now();
    for (int i = 0; i < readers; i++) pthread_create(&thread[i], NULL, read_pieces, &r);
    for (int i = 0; i < readers; i++) pthread_join(thread[i], NULL);
    double seconds = bench_now() - start;
    if (spread) behind += r.total;
    for (long i = 0; i < file_count(o); i++) close(r.file[i]);
    return (double)r.total / seconds;
}

static double disk_speed(const options *o) {
    static const struct {
        int readers;
        long piece;
        bool spread;
    } ways[] = {{4, PIECE, false},     {8, PIECE, false},     {16, PIECE, false},
                {16, 4 * PIECE, true}, {64, 4 * PIECE, true}, {64, 8 * PIECE, true}};
    double best = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        double speed = disk_speed_of(o, ways[i].readers, ways[i].piece, ways[i].spread, 1000000000);
        if (speed > best) best = speed;
    }
    return best;
}

/* Of a read of so many bytes: what a disk whose speed varies gives for as long as a pass takes. */
static double disk_sustained(const options *o, double bytes) {
    return disk_speed_of(o, 16, 4 * PIECE, true, (long long)bytes);
}

/* From pinned memory of the host to the GPU. */
static double link_speed(ox_device *gpu) {
    double best = 0;
    OX_SCOPE {
        ox_tensor *host = ox_empty_pinned(OX_SHAPE(16 << 20), OX_F32, gpu);
        ox_tensor *there = ox_to(ox_fill_(host, 1), gpu);
        for (int i = 0; i < 4; i++) {
            double start = bench_now();
            if (!ox_copy_(there, host) || ox_device_sync(gpu) != OX_OK) break;
            double speed = (double)ox_nbytes(host) / (bench_now() - start);
            if (speed > best) best = speed;
        }
    }
    return best;
}

static double copy_speed(void) {
    const size_t bytes = (size_t)256 << 20;
    char *a = malloc(bytes), *b = malloc(bytes);
    double best = 0;
    if (!a || !b) exit(1);
    memset(a, 1, bytes);
    memset(b, 2, bytes);
    for (int i = 0; i < 4; i++) {
        double start = bench_now();
        memcpy(i % 2 ? a : b, i % 2 ? b : a, bytes);
        double speed = (double)bytes / (bench_now() - start);
        if (speed > best) best = speed;
    }
    free(a);
    free(b);
    return best;
}

/* ---- a pass -------------------------------------------------------------------------------------------- */

typedef struct weights {
    ox_tensor *part[LAYERS_MOST + 1][PARTS_MOST];
} weights;

static ox_tensor *heads_of(ox_tensor *x, long tokens, long heads) {
    return ox_transpose(ox_reshape(x, OX_SHAPE(tokens, heads, HEAD)), 0, 1);
}

static ox_tensor *layer_pass(const options *o, ox_tensor *h, ox_tensor *const *w) {
    const long tokens = o->tokens;
    ox_attention_desc attention;
    memset(&attention, 0, sizeof attention);
    attention.causal = true;
    ox_tensor *n = ox_rms_norm(h, 1, w[NORM_A], 1e-5);
    ox_tensor *q = ox_rope(heads_of(ox_linear(n, w[QUERY], NULL), tokens, DIM / HEAD), NULL, NULL);
    ox_tensor *k = ox_rope(heads_of(ox_linear(n, w[KEY], NULL), tokens, KEYS / HEAD), NULL, NULL);
    ox_tensor *v = heads_of(ox_linear(n, w[VALUE], NULL), tokens, KEYS / HEAD);
    ox_tensor *a = ox_scaled_dot_product_attention(q, k, v, &attention);
    a = ox_reshape(ox_transpose(a, 0, 1), OX_SHAPE(tokens, DIM));
    h = ox_add(h, ox_linear(a, w[OUT], NULL));
    n = ox_rms_norm(h, 1, w[NORM_B], 1e-5);
    n = ox_mul(ox_linear_act(n, w[GATE], NULL, OX_ACTIVATION_SILU), ox_linear(n, w[UP], NULL));
    return ox_add(h, ox_linear(n, w[DOWN], NULL));
}

/* x: numbers [tokens, width], or words [tokens]. */
static double run_pass(const options *o, weights *w, ox_tensor *x, float *sum) {
    double start = bench_now();
    OX_SCOPE {
        ox_tensor *const *outer = w->part[o->layers], *h = x;
        if (o->model) h = ox_cast(ox_embedding(x, outer[EMBEDDING]), o->bf16 ? OX_BF16 : OX_F32);
        for (long i = 0; i < o->layers; i++) {
            ox_scope layer = ox_scope_begin(); /* what a layer makes for itself goes with it */
            h = ox_keep(o->model ? layer_pass(o, h, w->part[i])
                                 : ox_linear_act(h, w->part[i][0], NULL, OX_ACTIVATION_GELU));
            ox_scope_end(&layer);
        }
        if (o->model)
            h = ox_linear(ox_rms_norm(ox_narrow(h, 0, o->tokens - 1, 1), 1, outer[NORM_LAST], 1e-5),
                          outer[LOGITS], NULL);
        *sum = (float)ox_item(ox_sum(h, OX_ALL_DIMS, false));
    }
    return bench_now() - start;
}

/* A few layers' weights in RAM, over and over: what computing takes. */
static void make_few(const options *o, weights *few) {
    long some = o->model ? 2 : 8;
    for (long i = 0; i < file_count(o); i++)
        for (int k = 0; k < part_count(o, i); k++)
            few->part[i][k] = i >= some && i < o->layers ? few->part[i % some][k]
                                                         : ox_to(make_part(o, part_of(o, i, k)),
                                                                 o->vulkan ? ox_vulkan(0) : ox_cpu());
}

static bool open_model(const options *o, ox_device *device, weights *w) {
    for (long i = 0; i < file_count(o); i++) {
        ox_file *file = ox_file_open(file_path(o, i), device);
        for (int k = 0; k < part_count(o, i); k++) {
            w->part[i][k] = file ? ox_file_tensor(file, part_of(o, i, k).name) : NULL;
            if (!w->part[i][k]) return false;
        }
        ox_file_close(file);
    }
    return true;
}

static ox_tensor *make_input(const options *o) {
    int64_t words[1 << 12];
    if (!o->model) return ox_randn(OX_SHAPE(o->tokens, o->width), OX_F32);
    for (long i = 0; i < o->tokens && i < 1 << 12; i++) words[i] = i * 7919 % WORDS;
    return ox_from_data(words, OX_SHAPE(o->tokens), OX_I64);
}

typedef struct passes {
    const options *o;
    ox_shunt *shunt;
    ox_tensor *x, *far_x, *few_x; /* on the CPU, the shunt, and what computes */
    weights far, streamed, few;
    double fastest; /* of the disk, so far */
} passes;

static double longest(double a, double b, double c) {
    double most = a > b ? a : b;
    return most > c ? most : c;
}

static void measure_bare(passes *p, const char *name) {
    float sum = 0;
    ox_shunt_stats before = ox_shunt_get_stats(p->shunt);
    double wall = run_pass(p->o, &p->far, p->far_x, &sum);
    ox_shunt_stats s = ox_shunt_get_stats(p->shunt);
    printf("%s: %.0f ms, read %.0f MB, computing %.0f ms, at most %.0f MB, sum %g\n", name, 1e3 * wall,
           (double)(s.read_bytes - before.read_bytes) / 1e6, 1e3 * s.compute_seconds,
           (double)(s.device_peak + s.host_peak) / 1e6, (double)sum);
    fflush(stdout);
}

/* A pass of each, with the bounds of this minute. */
static void measure_pass(passes *p, const char *name) {
    const options *o = p->o;
    double all = (double)model_bytes(o), device = (double)(o->memory << 20), host = (double)(o->host << 20);
    double left = all - device - host, up = all - device < host ? all - device : host;
    float sum = 0, other_sum = 0; /* of memory: before and after, the better one */
    double long_before = left > 0 ? disk_sustained(o, left) : 0;
    double disk = disk_speed(o), copy = o->vulkan ? link_speed(ox_vulkan(0)) : copy_speed(),
           computing = run_pass(o, &p->few, p->few_x, &sum), again;
    ox_shunt_stats before = ox_shunt_get_stats(p->shunt);
    double wall = run_pass(o, &p->far, p->far_x, &sum);
    ox_shunt_stats s = ox_shunt_get_stats(p->shunt);
    double long_after = left > 0 ? disk_sustained(o, left) : 0, after = disk_speed(o), other = 0;
    if (after > disk) disk = after;
    again = run_pass(o, &p->few, p->few_x, &other_sum);
    if (again < computing) computing = again;
    if (o->stream) other = run_pass(o, &p->streamed, p->x, &other_sum);
    if (o->vulkan) up = all - device; /* what comes from the disk passes the link, too */
    double bound = longest(computing, left / disk, up / copy);
    if (disk > p->fastest) p->fastest = disk;
    double strict = longest(computing, left / p->fastest, up / copy);
    printf("%s: disk %.2f GB/s, copy %.1f; %.0f ms, read %.0f MB, copied %.0f, bound %.0f ms (computing "
           "%.0f, disk %.0f, copies %.0f), eta %.3f, by the fastest disk so far, %.2f GB/s, %.3f; simulated "
           "%.0f, computing %.0f, own eta %.2f",
           name, disk / 1e9, copy / 1e9, 1e3 * wall, (double)(s.read_bytes - before.read_bytes) / 1e6,
           (double)(s.down_bytes - before.down_bytes) / 1e6, 1e3 * bound, 1e3 * computing, 1e3 * left / disk,
           1e3 * up / copy, bound / wall, p->fastest / 1e9, strict / wall, 1e3 * s.simulated_seconds,
           1e3 * s.compute_seconds, s.eta);
    double sustained = long_before > long_after ? long_before : long_after;
    if (left > 0)
        printf("; disk over as many bytes %.2f and %.2f GB/s, eta by the better %.3f", long_before / 1e9,
               long_after / 1e9, longest(computing, left / sustained, up / copy) / wall);
    if (o->stream)
        printf("; stream %.0f ms, %.2f of it; same bits %s", 1e3 * other, wall / other,
               sum == other_sum ? "yes" : "no");
    printf("\n");
    fflush(stdout);
}

static void measure_forward(const options *o, ox_shunt *shunt, ox_stream *stream) {
    static passes p;
    char name[32];
    p.o = o;
    p.shunt = shunt;
    p.x = make_input(o);
    p.far_x = ox_to(p.x, ox_shunt_device(shunt));
    p.few_x = ox_to(p.x, o->vulkan ? ox_vulkan(0) : ox_cpu());
    if (!open_model(o, ox_shunt_device(shunt), &p.far)) return;
    if (o->stream && !open_model(o, ox_stream_device(stream), &p.streamed)) return;
    if (!o->bare) make_few(o, &p.few);
    printf("%ld layers, %.0f MB, budgets of %ld and %ld MiB, %ld tokens\n", o->layers,
           (double)model_bytes(o) / 1e6, o->memory, o->host, o->tokens);
    for (long i = 0; i < 3 + o->rounds && !ox_error(); i++) { /* planned, measured, revised */
        snprintf(name, sizeof name, i < 3 ? "pass %ld" : "round %ld", i < 3 ? i + 1 : i - 2);
        (o->bare ? measure_bare : measure_pass)(&p, name);
    }
    if (o->plan) (void)ox_shunt_dump(shunt, o->plan);
}

/* ---- random graphs ------------------------------------------------------------------------------------- */

static uint64_t graph_state;

static uint64_t graph_draw(uint64_t below) {
    graph_state ^= graph_state << 13;
    graph_state ^= graph_state >> 7;
    graph_state ^= graph_state << 17;
    return (graph_state >> 11) % below;
}

enum { GRAPH_LIVE = 6, GRAPH_WEIGHTS = 24 };

/* One pass over a graph: the same calls for the same seed. */
static void run_graph(uint64_t seed, ox_tensor *const *weight, ox_tensor *x) {
    graph_state = seed;
    long calls = 30 + (long)graph_draw(60);
    OX_SCOPE {
        ox_tensor *live[GRAPH_LIVE], *sum = NULL;
        for (int i = 0; i < GRAPH_LIVE; i++) live[i] = ox_mul_number(x, 1 + 0.1 * i);
        for (long i = 0; i < calls; i++) {
            ox_tensor *a = live[graph_draw(GRAPH_LIVE)], *b = live[graph_draw(GRAPH_LIVE)];
            ox_tensor **to = &live[graph_draw(GRAPH_LIVE)], *before = *to;
            switch (graph_draw(6)) {
            case 0: *to = ox_gelu(a); break;
            case 1: *to = ox_add(a, b); break;
            case 2: *to = ox_softmax(a, -1); break;
            default: *to = ox_linear(a, weight[graph_draw(GRAPH_WEIGHTS)], NULL);
            }
            ox_release(before);
        }
        for (int i = 0; i < GRAPH_LIVE; i++) sum = sum ? ox_add(sum, live[i]) : live[i];
        (void)ox_item(ox_sum(sum, OX_ALL_DIMS, false));
    }
}

/* What the simulation said of a pass, by its wall time, once the plan has been measured: the median of many
 * passes, for the speed of a machine and of its disk jumps between two of them. */
static double measure_graph(const options *o, uint64_t seed) {
    graph_state = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 8; i++) (void)graph_draw(2);
    long width = 512 + 256 * (long)graph_draw(7), rows = 64 << graph_draw(4);
    uint64_t weights = (uint64_t)GRAPH_WEIGHTS * (uint64_t)(width * width) * 4;
    uint64_t live = (uint64_t)(GRAPH_LIVE + 3) * (uint64_t)(rows * width) * 4;
    enum { PLANNED = 3, PASSES = 25 };
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = live + weights / (2 + graph_draw(3)) + ((uint64_t)8 << 20);
    desc.host_bytes = graph_draw(2) ? weights / 4 : 0;
    desc.spill = o->folder;
    desc.trace = o->trace;
    ox_shunt *shunt = ox_shunt_open(&desc);
    double predicted = 0;
    OX_SCOPE {
        ox_tensor *weight[GRAPH_WEIGHTS],
            *x = ox_to(ox_randn(OX_SHAPE(rows, width), OX_F32), ox_shunt_device(shunt));
        for (int i = 0; i < GRAPH_WEIGHTS; i++)
            weight[i] =
                ox_to(ox_mul_number(ox_randn(OX_SHAPE(width, width), OX_F32), 0.02), ox_shunt_device(shunt));
        double ratio[PASSES], wall[PASSES], half[2][PASSES];
        for (int i = 0; i < PLANNED + PASSES && !ox_error(); i++) {
            run_graph(seed + 77, weight, x);
            ox_shunt_stats s = ox_shunt_get_stats(shunt);
            if (i < PLANNED) continue;
            int at = i - PLANNED;
            ratio[at] = s.simulated_seconds / s.wall_seconds;
            wall[at] = half[at % 2][at / 2] = s.wall_seconds;
        }
        ox_shunt_stats s = ox_shunt_get_stats(shunt);
        predicted = bench_median(ratio, PASSES);
        printf("graph %llu: [%ld,%ld], %.0f of %.0f MB, host %.0f: %.1f ms (of halves %.1f, "
               "%.1f), predicted/wall %.3f, eta %.2f\n",
               (unsigned long long)seed, rows, width, (double)desc.device_bytes / 1e6, (double)weights / 1e6,
               (double)desc.host_bytes / 1e6, 1e3 * bench_median(wall, PASSES),
               1e3 * bench_median(half[0], (PASSES + 1) / 2), 1e3 * bench_median(half[1], PASSES / 2),
               predicted, s.eta);
        fflush(stdout);
        if (o->plan) (void)ox_shunt_dump(shunt, o->plan);
    }
    ox_shunt_close(shunt);
    return predicted;
}

static void measure_graphs(const options *o) {
    long within = 0, count = 0;
    for (; count < o->graphs && !ox_error(); count++) {
        double predicted = measure_graph(o, (uint64_t)(o->seed + count));
        within += predicted >= 0.9 && predicted <= 1.1;
    }
    printf("within 10 %% of the wall: %ld of %ld\n", within, count);
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
        fprintf(stderr, "bench_shunt [--layers N] [--width N] [--tokens N] [--memory MIB] [--host MIB] "
                        "[--rounds N] [--folder PATH] [--model 1] [--keep 1] [--stream 0] [--calls N] "
                        "[--eager 1] [--graphs N] [--seed N] [--trace PATH] [--plan PATH] [--bare 1] "
                        "[--bf16 1] [--vulkan 1]\n");
        return 2;
    }
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = o.calls || o.graphs ? 0 : (uint64_t)o.memory << 20;
    desc.host_bytes = (uint64_t)o.host << 20;
    desc.spill = o.folder;
    desc.trace = o.graphs ? NULL : o.trace;    /* each graph has a planner of its own */
    if (o.vulkan) desc.compute = ox_vulkan(0); /* the bound of copies is that of its link then */
    ox_stream_desc other;
    memset(&other, 0, sizeof other);
    other.ram_bytes = (size_t)(o.memory + o.host) << 20;
    other.spill = o.folder;
    ox_shunt *shunt = ox_shunt_open(&desc);
    ox_stream *stream = o.calls || o.graphs || !o.stream ? NULL : ox_stream_open(&other);
    OX_SCOPE {
        if (o.graphs)
            measure_graphs(&o);
        else if (o.calls)
            measure_calls(&o, shunt);
        else if (shunt && (stream || !o.stream) && write_model(&o))
            measure_forward(&o, shunt, stream);
    }
    if (ox_error()) fprintf(stderr, "bench_shunt: %s\n", ox_error_text());
    for (long i = 0; i < file_count(&o) && !o.calls && !o.graphs && !o.keep; i++) remove(file_path(&o, i));
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
