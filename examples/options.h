/* options.h - words of a command line for the examples: a table of options, each with what its value must be
 * and where it goes. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct option {
    const char *name;
    bool (*read)(const char *text, void *out); /* NULL: an option without a value, out is a bool */
    void *out;
    const char *wants; /* what the value must be, in words */
} option;

static inline bool read_text(const char *text, void *out) {
    *(const char **)out = text;
    return true;
}

/* int64_t, not below 0 */
static inline bool read_whole(const char *text, void *out) {
    char *end = NULL;
    errno = 0;
    *(int64_t *)out = strtoll(text, &end, 10);
    return end != text && !*end && errno == 0 && *(int64_t *)out >= 0;
}

/* uint64_t */
static inline bool read_seed(const char *text, void *out) {
    char *end = NULL;
    errno = 0;
    *(uint64_t *)out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && errno == 0;
}

/* size_t: "300M", "2G" */
static inline bool read_bytes(const char *text, void *out) {
    char *end = NULL;
    double number = strtod(text, &end), unit = *end == 'G' ? 1 << 30 : *end == 'M' ? 1 << 20 : 0;
    *(size_t *)out = number * unit < 1e15 && number > 0 ? (size_t)(number * unit) : 0;
    return end != text && unit > 0 && !end[1] && *(size_t *)out > 0;
}

/* double */
static inline bool read_real(const char *text, void *out) {
    char *end = NULL;
    double number = *(double *)out = strtod(text, &end);
    return end != text && !*end && number > -1e9 && number < 1e9;
}

/* Takes all words; the one that is no option goes to *plain. On failure says why, for `program`. */
static inline bool options_read(const char *program, int count, char **words, const option *known, size_t all,
                                const char **plain) {
    for (int i = 1; i < count; i++) {
        const char *name = words[i], *value = i + 1 < count ? words[i + 1] : NULL, *wrong = "is no option";
        size_t k = 0;
        while (k < all && strcmp(name, known[k].name) != 0) k++;
        if (k == all && name[0] != '-' && !*plain) {
            *plain = name;
            continue;
        }
        if (k < all && !known[k].read) {
            *(bool *)known[k].out = true;
            continue;
        }
        if (k < all && value && known[k].read(value, known[k].out)) {
            i++;
            continue;
        }
        if (k < all) wrong = known[k].wants;
        fprintf(stderr, "%s: %s %s (%s)\n", program, name, wrong, value ? value : "nothing follows");
        return false;
    }
    return true;
}

#endif
