/* options.h - words of a command line for the examples: a table of options, each with what its value must be
 * and where it goes, and a table of words that are no options. --help and -h print the example's help and end
 * it. */
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

typedef struct command_line {
    const char *program, *help;
    const option *options;
    size_t option_count;
    const option *plain; /* what words that are no options are, in order; each may be missing; a name that
                          * ends in "..." takes all that follow */
    size_t plain_count;
} command_line;

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

static inline const option *options_find(const command_line *c, const char *name) {
    for (size_t k = 0; k < c->option_count; k++)
        if (strcmp(name, c->options[k].name) == 0) return &c->options[k];
    return NULL;
}

static inline bool options_repeats(const option *plain) {
    const size_t length = strlen(plain->name);
    return length > 3 && strcmp(plain->name + length - 3, "...") == 0;
}

/* Takes all words. On failure says why. */
static inline bool options_read(const command_line *c, int count, char **words) {
    size_t plain = 0;
    for (int i = 1; i < count; i++) {
        const char *name = words[i], *value = i + 1 < count ? words[i + 1] : NULL;
        const option *known = options_find(c, name);
        if (!known && (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)) {
            fputs(c->help, stdout);
            exit(0);
        }
        if (known && !known->read) {
            *(bool *)known->out = true;
        } else if (known && value && known->read(value, known->out)) {
            i++;
        } else if (known) {
            fprintf(stderr, "%s: %s %s (%s)\n", c->program, name, known->wants,
                    value ? value : "nothing follows");
            return false;
        } else if (name[0] == '-' || plain == c->plain_count) {
            fprintf(stderr, "%s: %s is %s; %s --help lists what there is\n", c->program, name,
                    name[0] == '-' ? "no option" : "a word too many", c->program);
            return false;
        } else if (!c->plain[plain].read(name, c->plain[plain].out)) {
            fprintf(stderr, "%s: %s %s (%s)\n", c->program, c->plain[plain].name, c->plain[plain].wants,
                    name);
            return false;
        } else if (!options_repeats(&c->plain[plain])) {
            plain++;
        }
    }
    return true;
}

#endif
