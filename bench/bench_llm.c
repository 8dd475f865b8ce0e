/* bench_llm.c - a language model's tokens per second: prompts of some lengths, and new tokens one by one.
 *
 *     bench_llm MODEL.gguf [-p 128,512] [-n 64] [--threads N] [--runs 3] [--device vulkan] [--profile]
 *               [--copy]
 *
 * Tokens are arbitrary ids; nothing is sampled, logits stay where the device puts them. A run that does not
 * count comes first. One line a measurement, medians: "prompt 128 345.6", or "new 64 78.9 (4.1 GB/s, 0.88 of
 * the read bandwidth)": of the weights, which each new token reads once, and of the memories of recurrent
 * layers, which it reads and writes; and of what as many threads read of the same file as fast as they can in
 * the same run (on a GPU: of what a copy on it reads and writes).
 * --profile adds what each op took.
 * --copy reads the file into memory, in huge pages where there are some, instead of mapping it.
 * Without a model it says so and ends well, since `make bench` has none to give. */
#include "oxtorch_llm.h"
#include "oxtorch_vulkan.h"
#include "peaks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTHS = 8, RUNS = BENCH_MAX_RUNS };

typedef struct options {
    const char *model;
    long prompts[LENGTHS], count, steps, threads, runs;
    ox_device *gpu; /* NULL: the CPU */
    bool copies;
    bool profile;
} options;

static long list(const char *text, long *out) {
    long n = 0;
    for (char *end; n < LENGTHS && *text; text = *end ? end + 1 : end) {
        out[n] = strtol(text, &end, 10);
        if (end == text || out[n++] < 1) return 0;
    }
    return n;
}

static bool read_options(options *o, int argc, char **argv) {
    memset(o, 0, sizeof *o);
    o->count = list("128", o->prompts);
    o->steps = 64;
    o->runs = 3;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (argv[i][0] != '-') {
            o->model = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--copy") == 0) {
            o->copies = true;
            continue;
        }
        if (strcmp(argv[i], "--profile") == 0) {
            o->profile = true;
            continue;
        }
        if (strcmp(argv[i], "-p") == 0)
            o->count = list(value, o->prompts);
        else if (strcmp(argv[i], "-n") == 0)
            o->steps = strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--threads") == 0)
            o->threads = strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--device") == 0 && strcmp(value, "vulkan") == 0)
            o->gpu = ox_vulkan(0);
        else if (strcmp(argv[i], "--runs") == 0)
            o->runs = strtol(value, NULL, 10);
        else
            return false;
        i++;
    }
    return o->runs > 0 && o->runs <= RUNS && o->steps >= 0 && o->threads >= 0;
}

/* Seconds for `count` tokens, all at once or one by one, in an empty context; below 0: an error. */
static double run(ox_llm_context *context, const int32_t *tokens, long count, bool at_once, float *logits) {
    ox_status status = ox_llm_rewind(context, 0);
    double start = bench_now();
    if (at_once && status == OX_OK) status = ox_llm_decode(context, tokens, count, logits);
    for (long i = 0; !at_once && status == OX_OK && i < count; i++)
        status = ox_llm_step(context, tokens[i]) ? OX_OK : ox_error();
    return status == OX_OK ? bench_now() - start : -1;
}

/* Whether a new token reads no more of it than a row: embeddings, or what an encoder has. */
static bool is_aside(const ox_file *file, const char *name) {
    static const char *const aside[] = {"position_embd.", "token_types.", "enc.", "cross_attn_k.",
                                        "cross_attn_v."};
    if (strcmp(name, "token_embd.weight") == 0) return ox_file_has(file, "output.weight");
    for (size_t i = 0; i < sizeof aside / sizeof *aside; i++)
        if (strstr(name, aside[i])) return true;
    return false;
}

/* Bytes of a layer's memory, which a new token reads and writes in f32, if the tensor is the one that tells
 * that the layer has one. */
static double memory_bytes(const ox_file *file, const ox_llm_config *config, const char *name) {
    char key[128];
    double heads, each;
    if (strstr(name, ".ssm_a")) {
        snprintf(key, sizeof key, "%s.ssm.inner_size", config->architecture);
        heads = (double)ox_file_meta_int(file, key, 0);
        snprintf(key, sizeof key, "%s.ssm.state_size", config->architecture);
    } else if (strstr(name, ".time_mix_key.weight")) {
        heads = (double)config->width;
        snprintf(key, sizeof key, "%s.wkv.head_size", config->architecture);
    } else {
        return 0;
    }
    each = (double)ox_file_meta_int(file, key, 0);
    return 2 * sizeof(float) * heads * each;
}

/* Bytes that a new token reads or writes: memories and all tensors, without the embedding's rows if they are
 * not the output too, and of the experts as many as are used. */
static double token_bytes(const char *path, const ox_llm_config *config) {
    ox_file *file = ox_file_open(path, NULL);
    double bytes = 0;
    for (int64_t i = 0; i < ox_file_count(file); i++) {
        ox_file_entry entry;
        if (ox_file_get_entry(file, i, &entry) != OX_OK) break;
        bytes += memory_bytes(file, config, entry.name);
        if (is_aside(file, entry.name)) continue;
        bool experts = config->experts > 0 && strstr(entry.name, "_exps.") != NULL;
        double used = experts ? (double)config->experts_used / (double)config->experts : 1;
        bytes += used * (double)entry.bytes;
    }
    ox_file_close(file);
    return bytes;
}

/* GB/s at which all threads read the file's pages, which are in memory, or as much memory as the file
 * takes. */
static double read_rate(const char *path, bool copies) {
    struct stat info;
    int file = open(path, O_RDONLY);
    double rate = 0;
    if (file >= 0 && fstat(file, &info) == 0 && copies) {
        ox_tensor *pages = ox_ones(OX_SHAPE((int64_t)info.st_size), OX_U8);
        if (pages) rate = peaks_memory(ox_threads(), ox_data(pages), NULL, (size_t)info.st_size);
        ox_release(pages);
    } else if (file >= 0 && fstat(file, &info) == 0) {
        void *pages = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (pages != MAP_FAILED) rate = peaks_memory(ox_threads(), pages, NULL, (size_t)info.st_size);
        if (pages != MAP_FAILED) munmap(pages, (size_t)info.st_size);
    }
    if (file >= 0) close(file);
    return rate;
}

/* GB/s of a copy of 256 MiB on the GPU, counting what it reads and what it writes. */
static double copy_rate(ox_device *gpu) {
    double seconds[RUNS];
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(1 << 26), OX_F32), gpu), *y = ox_clone(x);
        for (int i = -30; i < 9; i++) {
            double start = bench_now();
            (void)ox_copy_(y, x);
            (void)ox_device_sync(gpu);
            if (i >= 0) seconds[i] = bench_now() - start;
        }
    }
    return 2.0 * (1 << 28) * 1e-9 / bench_median(seconds, 9);
}

static void print_profile(ox_llm_context *context, const int32_t *tokens, long count, bool at_once,
                          float *logits) {
    static char table[1 << 16];
    ox_profile_begin();
    (void)run(context, tokens, count, at_once, logits);
    ox_profile_end();
    (void)ox_profile_table(table, sizeof table);
    printf("%s", table);
}

static bool measure(const options *o, ox_llm_context *context, const ox_llm_config *config,
                    const int32_t *tokens, long count, bool at_once, float *logits) {
    double seconds[RUNS];
    /* a GPU's driver swaps better code in a while after the first use */
    double warm = bench_now() + (o->gpu ? 0.7 : 0);
    for (long i = -1; i < o->runs; i++) {
        if (i == 0 && bench_now() < warm) i = -1;
        double took = run(context, tokens, count, at_once, logits);
        if (took < 0) return false;
        if (i >= 0) seconds[i] = took;
    }
    double rate = (double)count / bench_median(seconds, (int)o->runs);
    printf("%s %ld %.2f", at_once ? "prompt" : "new", count, rate);
    if (!at_once) {
        double bytes = token_bytes(o->model, config);
        double read = o->gpu ? copy_rate(o->gpu) : read_rate(o->model, o->copies);
        printf(" (%.1f GB/s, %.2f of the read bandwidth)", rate * bytes * 1e-9, rate * bytes * 1e-9 / read);
    }
    printf("\n");
    if (o->profile) print_profile(context, tokens, count, at_once, logits);
    fflush(stdout);
    return true;
}

static bool measure_all(const options *o, ox_llm *model, ox_llm_context *context, int32_t *tokens,
                        float *logits) {
    const ox_llm_config *config = ox_llm_get_config(model);
    bool ok = true;
    for (long i = 0; i < ox_llm_capacity(context); i++) tokens[i] = (int32_t)(i * 7919 % config->vocabulary);
    if (config->encoder_layers > 0 && ox_llm_encode(context, tokens, 1) != OX_OK) return false;
    for (long i = 0; ok && i < o->count; i++)
        ok = measure(o, context, config, tokens, o->prompts[i], true, logits);
    return ok && (o->steps == 0 || measure(o, context, config, tokens, o->steps, false, logits));
}

int main(int argc, char **argv) {
    options o;
    if (!read_options(&o, argc, argv)) {
        fprintf(stderr, "bench_llm MODEL.gguf [-p 128,512] [-n 64] [--threads N] [--runs 3] "
                        "[--device vulkan] [--profile] [--copy]\n");
        return 2;
    }
    if (!o.model) {
        puts("bench_llm: no model was given");
        return 0;
    }
    ox_set_threads((int)o.threads);
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.capacity = o.steps;
    for (long i = 0; i < o.count; i++)
        if (o.prompts[i] > desc.capacity) desc.capacity = o.prompts[i];
    desc.cache = OX_F16;
    ox_file *file = o.copies ? ox_file_open_copy(o.model, o.gpu) : ox_file_open(o.model, o.gpu);
    ox_llm *model = file ? ox_llm_open_file(file) : NULL;
    ox_file_close(file);
    ox_llm_context *context = model ? ox_llm_context_open(model, &desc) : NULL;
    int32_t *tokens = (int32_t *)malloc((size_t)(desc.capacity + 1) * sizeof *tokens);
    const size_t vocabulary = model ? (size_t)ox_llm_get_config(model)->vocabulary : 0;
    float *logits = model ? (float *)malloc(vocabulary * sizeof *logits) : NULL;
    bool ok = context && tokens && logits && measure_all(&o, model, context, tokens, logits);
    if (!ok) fprintf(stderr, "bench_llm: %s\n", ox_error_text());
    free(logits);
    free(tokens);
    ox_llm_context_close(context);
    ox_llm_close(model);
    return ok ? 0 : 1;
}
