/* draw.h - numbers for random graphs and programs of the planner's tests: the same ones for the same state. */
#ifndef OX_TESTS_DRAW_H
#define OX_TESTS_DRAW_H

#include <stdint.h>

static uint64_t state = 88172645463325252u;

/* xorshift64 of Marsaglia: one of 0 .. below - 1. */
static uint64_t draw(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

#endif
