/* bar.h - a progress bar on standard error, for the examples. */
#ifndef BAR_H
#define BAR_H

#include <stdint.h>
#include <stdio.h>

typedef struct bar {
    int64_t all; /* what is to be done */
    int shown;   /* of 40 */
} bar;

/* Moves the bar when that can be seen; it goes when all is done. */
static inline void bar_show(bar *b, int64_t done) {
    static const char full[] = "########################################";
    int now = done < b->all ? (int)(40 * done / b->all) : 40;
    if (now == b->shown) return;
    b->shown = now;
    if (now < 40) fprintf(stderr, "\r[%.*s%*s]", now, full, 40 - now, "");
    else fprintf(stderr, "\r%42s\r", "");
}

#endif
