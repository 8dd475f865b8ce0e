/* stream_check.h - what the tests of oxtorch_stream.h share: the ways a stream can be opened, tensors put
 * into files, and an operation run over files and over RAM with its results compared bit for bit. */
#ifndef STREAM_CHECK_H
#define STREAM_CHECK_H

#include "check.h"
#include "oxtorch_stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 16384, BUDGET = 512 << 10 };

typedef struct stream_case {
    const char *folder; /* NULL: this machine has none of the kind */
    ox_stream_reading reading;
    bool buffered;
    size_t result_bytes, tile_bytes, ram_bytes;
} stream_case;

static const char *case_folders[2];

static void check_cases(void) {
    const char *disk = getenv("OX_TEST_TMP");
    char path[256];
    case_folders[0] = disk ? disk : ".";
    snprintf(path, sizeof path, "/dev/shm/oxtorch-%p.test", (void *)path);
    FILE *file = fopen(path, "wb");
    if (file) {
        fclose(file);
        remove(path);
        case_folders[1] = "/dev/shm";
    } else {
        check_skip("streams in memory", "there is no /dev/shm");
    }
}

static inline int case_count(void) {
    return 6;
}
static inline stream_case case_at(int index) {
    stream_case c;
    memset(&c, 0, sizeof c);
    c.folder = case_folders[index == 4 || index == 5];
    c.reading = index & 1 ? OX_STREAM_THREADS : OX_STREAM_BEST;
    c.buffered = index == 2;
    c.result_bytes = index == 1 || index == 2 ? 1 : 0; /* 1: nearly all results go to the spill file */
    c.tile_bytes = TILE;
    c.ram_bytes = BUDGET;
    if (index == 3) c.result_bytes = (size_t)1 << 30;
    return c;
}

/* The same with another budget and other tiles. */
static inline stream_case case_sized(const stream_case *c, size_t ram_bytes, size_t tile_bytes) {
    stream_case sized = *c;
    sized.ram_bytes = ram_bytes;
    sized.tile_bytes = tile_bytes;
    return sized;
}

static ox_stream_desc case_desc(const stream_case *c) {
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.ram_bytes = c->ram_bytes;
    desc.tile_bytes = c->tile_bytes;
    desc.result_bytes = c->result_bytes;
    desc.spill = c->folder;
    desc.reading = c->reading;
    desc.buffered = c->buffered;
    return desc;
}

static ox_stream *case_open(const stream_case *c) {
    ox_stream_desc desc = case_desc(c);
    ox_stream *stream = ox_stream_open(&desc);
    CHECK_MSG(stream != NULL, "%s", ox_error_text());
    return stream;
}

/* Normal numbers of a dtype, the same for the same seed; a NaN and infinities among f32. */
static inline ox_tensor *numbers(ox_shape shape, ox_dtype dtype, uint64_t seed) {
    ox_manual_seed(seed);
    ox_tensor *t = ox_randn(shape, OX_F32);
    if (dtype == OX_F64 || dtype == OX_F32 || dtype == OX_F16) return ox_cast(t, dtype);
    if (dtype == OX_I8) return ox_cast(ox_mul_number(t, 20), dtype);
    return ox_cast(t, dtype);
}

/* The numbers of t, wherever it is; to be freed. */
static char *bytes_of(ox_tensor *t, size_t *bytes) {
    *bytes = t ? ox_nbytes(t) : 0;
    char *data = (char *)malloc(*bytes + 1);
    if (!data || !t || ox_to_data(t, data, *bytes) != OX_OK) *bytes = SIZE_MAX;
    return data;
}

static inline bool same_bits(ox_tensor *a, ox_tensor *b) {
    size_t a_bytes, b_bytes;
    char *x = bytes_of(a, &a_bytes), *y = bytes_of(b, &b_bytes);
    bool same =
        a_bytes != SIZE_MAX && a_bytes == b_bytes && a->dtype == b->dtype && memcmp(x, y, a_bytes) == 0;
    free(x);
    free(y);
    return same;
}

/* Writes t to a raw file behind `lead` bytes. */
static inline void put_raw(const char *path, ox_tensor *t, int lead) {
    size_t bytes;
    char *data = bytes_of(t, &bytes);
    FILE *file = fopen(path, "wb");
    bool done = file && bytes != SIZE_MAX;
    for (int i = 0; done && i < lead; i++) done = fputc('x', file) == 'x';
    done = done && fwrite(data, 1, bytes, file) == bytes;
    if (file) done = fclose(file) == 0 && done;
    CHECK_MSG(done, "cannot write %s", path);
    free(data);
}

typedef ox_tensor *(*stream_run)(ox_tensor *const *in);

/* Runs over RAM and over a stream where the operands in `mask` lie in files. */
static void compare_mask(const stream_case *c, const char *name, stream_run run, ox_tensor *const *in,
                         int count, unsigned mask) {
    static const int leads[] = {0, 8, 32, 4096, 4, 3}; /* the last two: no aligned elements for wide dtypes */
    static int turn;
    char path[5][320];
    ox_tensor *far[5];
    ox_stream *stream = case_open(c);
    if (!stream) return;
    ox_scope scope = ox_scope_begin();
    for (int i = 0; i < count; i++) {
        int lead = leads[turn++ % 6];
        far[i] = in[i];
        if (!(mask >> i & 1)) continue;
        snprintf(path[i], sizeof path[i], "%s/oxtorch-stream-%p-%d.raw", c->folder, (void *)&turn, i);
        put_raw(path[i], in[i], lead);
        far[i] = ox_stream_raw(stream, path[i], lead, in[i]->dtype, ox_shape_of(in[i]));
        remove(path[i]); /* an open file lives on */
    }
    ox_tensor *wanted = run(in), *got = run(far);
    bool same = wanted && got && same_bits(got, wanted);
    CHECK_MSG(same, "%s of %lld elements, operands %u in files, folder %s, reading %d, results %llu: %s",
              name, (long long)ox_numel(in[0]), mask, c->folder, (int)c->reading,
              (unsigned long long)c->result_bytes, ox_error() ? ox_error_text() : "other bits");
    ox_error_clear();
    ox_scope_end(&scope);
    ox_device_close(ox_stream_device(stream));
}

/* All operands in files. */
static inline void compare(const stream_case *c, const char *name, stream_run run, ox_tensor *const *in,
                           int count) {
    compare_mask(c, name, run, in, count, (1u << count) - 1);
}

/* Every choice of operands in files. */
static inline void compare_masks(const stream_case *c, const char *name, stream_run run, ox_tensor *const *in,
                                 int count) {
    for (unsigned mask = 1; mask < 1u << count; mask++) compare_mask(c, name, run, in, count, mask);
}

#endif
