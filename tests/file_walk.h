/* file_walk.h - opens bytes as a file and touches everything that is in it: for tests with hostile files
 * and for fuzz targets. The bytes go through a file in memory (or in OX_TEST_TMP), as a user's would. */
#ifndef FILE_WALK_H
#define FILE_WALK_H

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On other machines numbers of a file are turned round into a copy, and their bytes are not those of the
 * file. */
static inline int little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* Where open_bytes puts its bytes; made at the first use. */
static const char *bytes_path(void) {
    static char path[1024];
    if (path[0]) return path;
#if defined(__linux__) && defined(SYS_memfd_create) && defined(_GNU_SOURCE)
    int file = (int)syscall(SYS_memfd_create, "ox", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    FILE *probe = file < 0 ? NULL : fopen(path, "wb");
    if (probe) {
        fclose(probe);
        return path;
    }
#endif
    const char *folder = getenv("OX_TEST_TMP");
    snprintf(path, sizeof path, "%s/bytes-%lx.tmp", folder ? folder : "/tmp", (unsigned long)(size_t)path);
    return path;
}

/* ox_file_open over bytes. Only one such file at a time may be open. */
static ox_file *open_bytes(const void *data, size_t bytes) {
    const char *path = bytes_path();
    FILE *file = fopen(path, "wb");
    if (!file) return NULL;
    size_t written = bytes ? fwrite(data, 1, bytes, file) : 0;
    if (fclose(file) != 0 || written != bytes) return NULL;
    return ox_file_open(path, NULL);
}

static uint64_t walk_sum; /* of every byte that was touched */

static void walk_bytes(const void *data, size_t bytes) {
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < bytes; i++) walk_sum = walk_sum * 31 + p[i];
}

static void walk_meta(const ox_file *file, const ox_file_meta *meta, int depth) {
    walk_bytes(meta->key.data, (size_t)meta->key.length);
    if (meta->type == OX_FILE_META_STRING)
        walk_bytes(meta->text.data, (size_t)meta->text.length);
    else
        walk_bytes(&meta->i, sizeof meta->i);
    for (int64_t i = -1; meta->type == OX_FILE_META_ARRAY && i <= meta->count && depth < 16; i++) {
        if (i == 1000 && meta->count > 2000) i = meta->count - 1000;
        ox_file_meta element = ox_file_meta_element(file, meta, i);
        if (element.type != OX_FILE_META_NONE) walk_meta(file, &element, depth + 1);
    }
}

/* Touches names, shapes, metadata and the numbers of every tensor. Returns how many tensors did not load. */
static int64_t walk_file(ox_file *file) {
    int64_t failed = 0;
    for (int64_t i = 0; i < ox_file_count(file); i++) {
        const char *name = ox_file_name(file, i);
        ox_file_entry entry;
        if (ox_file_get_entry(file, i, &entry) != OX_OK || !ox_file_has(file, name)) return -1;
        walk_bytes(name, strlen(name));
        walk_bytes(entry.shape, sizeof entry.shape);
        ox_tensor *t = ox_file_tensor(file, name);
        if (t)
            walk_bytes(ox_data(t), ox_nbytes(t));
        else
            failed++;
        ox_release(t);
    }
    for (int64_t i = 0; i < ox_file_meta_count(file); i++) {
        ox_file_meta meta = ox_file_meta_at(file, i);
        walk_meta(file, &meta, 0);
    }
    return failed;
}

#ifdef FILE_FUZZ
/* Opens, touches, closes. Returns 1 when the file opened, 0 when it was refused. */
static int walk_input(const void *data, size_t bytes) {
    ox_error_clear();
    ox_file *file = open_bytes(data, bytes);
    if (file) (void)walk_file(file);
    ox_file_close(file);
    ox_error_clear();
    return file != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ox_memory_stats before = ox_memory_get_stats();
    (void)walk_input(data, size);
    ox_memory_stats after = ox_memory_get_stats();
    if (after.bytes_in_use != before.bytes_in_use || after.tensors != before.tensors) abort();
    return 0;
}
#endif

#endif
