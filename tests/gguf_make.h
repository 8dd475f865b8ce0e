/* gguf_make.h - writes small GGUF files for tests: keys, arrays, tensors, in the order of the calls.
 * Nothing is checked: hostile values are what some tests are after. Sizes are row-major, as in the library.
 */
#ifndef GGUF_MAKE_H
#define GGUF_MAKE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct gguf_bytes {
    unsigned char *data;
    size_t count, room;
} gguf_bytes;

typedef struct gguf_make {
    gguf_bytes keys, tensors, data;
    uint64_t key_count, tensor_count;
} gguf_make;

enum {
    GGUF_U8 = 0,
    GGUF_U32 = 4,
    GGUF_I32 = 5,
    GGUF_F32 = 6,
    GGUF_BOOL = 7,
    GGUF_TEXT = 8,
    GGUF_ARRAY = 9,
    GGUF_U64 = 10
};

static inline void gguf_put(gguf_bytes *b, const void *data, size_t count) {
    if (b->count + count > b->room) {
        b->room = 2 * (b->count + count) + 64;
        b->data = (unsigned char *)realloc(b->data, b->room);
        if (!b->data) exit(2);
    }
    if (count) memcpy(b->data + b->count, data, count);
    b->count += count;
}

/* Little-endian, whatever the machine. */
static inline void gguf_number(gguf_bytes *b, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) {
        const unsigned char c = (unsigned char)(value >> (8 * i));
        gguf_put(b, &c, 1);
    }
}

static inline void gguf_string(gguf_bytes *b, const char *text, size_t length) {
    gguf_number(b, length, 8);
    gguf_put(b, text, length);
}

static inline uint32_t gguf_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static inline void gguf_key(gguf_make *g, const char *key, int type) {
    gguf_string(&g->keys, key, strlen(key));
    gguf_number(&g->keys, (uint64_t)type, 4);
    g->key_count++;
}

static inline void gguf_u32(gguf_make *g, const char *key, uint32_t value) {
    gguf_key(g, key, GGUF_U32);
    gguf_number(&g->keys, value, 4);
}

static inline void gguf_i32(gguf_make *g, const char *key, int32_t value) {
    gguf_key(g, key, GGUF_I32);
    gguf_number(&g->keys, (uint32_t)value, 4);
}

static inline void gguf_u64(gguf_make *g, const char *key, uint64_t value) {
    gguf_key(g, key, GGUF_U64);
    gguf_number(&g->keys, value, 8);
}

static inline void gguf_f32(gguf_make *g, const char *key, float value) {
    gguf_key(g, key, GGUF_F32);
    gguf_number(&g->keys, gguf_float_bits(value), 4);
}

static inline void gguf_bool(gguf_make *g, const char *key, int value) {
    gguf_key(g, key, GGUF_BOOL);
    gguf_number(&g->keys, value != 0, 1);
}

static inline void gguf_text(gguf_make *g, const char *key, const char *text) {
    gguf_key(g, key, GGUF_TEXT);
    gguf_string(&g->keys, text, strlen(text));
}

/* An array's head; its elements follow with gguf_number or gguf_string on g->keys. */
static inline void gguf_array(gguf_make *g, const char *key, int type, uint64_t count) {
    gguf_key(g, key, GGUF_ARRAY);
    gguf_number(&g->keys, (uint64_t)type, 4);
    gguf_number(&g->keys, count, 8);
}

/* `type` is GGUF's id. */
static inline void gguf_tensor(gguf_make *g, const char *name, int type, int ndim, const int64_t *shape,
                               const void *data, size_t bytes) {
    const unsigned char zeros[32] = {0};
    gguf_string(&g->tensors, name, strlen(name));
    gguf_number(&g->tensors, (uint64_t)ndim, 4);
    for (int d = ndim - 1; d >= 0; d--) gguf_number(&g->tensors, (uint64_t)shape[d], 8);
    gguf_number(&g->tensors, (uint64_t)type, 4);
    gguf_number(&g->tensors, g->data.count, 8);
    gguf_put(&g->data, data, bytes);
    gguf_put(&g->data, zeros, (32 - g->data.count % 32) % 32);
    g->tensor_count++;
}

/* Writes the file and frees everything; 0 if that worked. */
static inline int gguf_write(gguf_make *g, const char *path) {
    gguf_bytes all = {NULL, 0, 0};
    const unsigned char zeros[32] = {0};
    gguf_put(&all, "GGUF", 4);
    gguf_number(&all, 3, 4);
    gguf_number(&all, g->tensor_count, 8);
    gguf_number(&all, g->key_count, 8);
    gguf_put(&all, g->keys.data, g->keys.count);
    gguf_put(&all, g->tensors.data, g->tensors.count);
    gguf_put(&all, zeros, (32 - all.count % 32) % 32);
    gguf_put(&all, g->data.data, g->data.count);
    FILE *file = fopen(path, "wb");
    int bad = !file || fwrite(all.data, 1, all.count, file) != all.count;
    if (file && fclose(file)) bad = 1;
    free(all.data);
    free(g->keys.data);
    free(g->tensors.data);
    free(g->data.data);
    memset(g, 0, sizeof *g);
    return bad;
}

/* A path in the folder for the tests' files; one of a few buffers. */
static inline const char *gguf_path(const char *name) {
    static char paths[4][1024];
    static int next;
    const char *folder = getenv("OX_TEST_TMP");
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder ? folder : "/tmp", name);
    return path;
}

#endif
