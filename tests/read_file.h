/* read_file.h - files as texts, for tests. */
#ifndef READ_FILE_H
#define READ_FILE_H

#include <stdio.h>
#include <stdlib.h>

/* All of a file with a final 0, to be freed; NULL if it cannot be read. *bytes, where wanted, is its length,
 * or 0. */
static inline char *read_file(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t count = 0;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        const long length = ftell(file);
        rewind(file);
        text = length >= 0 ? (char *)malloc((size_t)length + 1) : NULL;
        if (text) count = fread(text, 1, (size_t)length, file);
        if (text) text[count] = 0;
    }
    if (file) fclose(file);
    if (bytes) *bytes = count;
    return text;
}

#endif
