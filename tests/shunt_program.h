/* shunt_program.h - random programs for tests of the planner: operations, views, changes in place, deaths and
 * reads in any order, on any device. */
#ifndef OX_TESTS_SHUNT_PROGRAM_H
#define OX_TESTS_SHUNT_PROGRAM_H

#include "check.h"
#include "draw.h"
#include "oxtorch_stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIVE = 12, LINES_MOST = 60 };

/* A program: what each line does, with operands by their places among the live tensors. */
typedef struct line {
    int what, a, b, to;
    double number;
} line;
typedef struct program {
    line lines[LINES_MOST];
    int count, side;
    uint64_t seed;
} program;

typedef enum what {
    ADD,
    MUL_NUMBER,
    MATMUL,
    GELU,
    ADD_IN_PLACE,
    MUL_ROW_IN_PLACE,
    TRANSPOSED,
    ROWS,
    SOFTMAX,
    SUM_EXPANDED,
    DROPOUT,
    CAT,
    SORT,
    COPY_SLICE,
    TRIANGLE,
    CUMSUM,
    CLONE,
    SQUARE_AGAIN,
    WHATS
} what;

static program draw_program(uint64_t seed) {
    program p;
    state = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
    for (int i = 0; i < 8; i++) draw(2);
    p.seed = seed;
    p.side = 8 + (int)draw(40);
    p.count = 5 + (int)draw(LINES_MOST - 5);
    for (int i = 0; i < p.count; i++) {
        p.lines[i].what = (int)draw(WHATS);
        p.lines[i].a = (int)draw(LIVE);
        p.lines[i].b = (int)draw(LIVE);
        p.lines[i].to = (int)draw(LIVE);
        p.lines[i].number = 0.25 + (double)draw(100) / 100;
    }
    return p;
}

/* Numbers stay of modest size: what a line gives is pulled back by a tanh now and then. */
static ox_tensor *run_line(const line *l, ox_tensor *a, ox_tensor *b, int side) {
    switch (l->what) {
    case ADD: return ox_tanh(ox_add(a, b));
    case MUL_NUMBER: return ox_mul_number(a, l->number);
    case MATMUL: return ox_tanh(ox_mul_number(ox_matmul(a, b), 1.0 / side));
    case GELU: return ox_gelu(a);
    case ADD_IN_PLACE: return ox_add_scaled_(a, b, l->number) ? ox_tanh_(a) : NULL;
    case MUL_ROW_IN_PLACE: return ox_mul_number_(ox_select(a, 0, side / 2), l->number) ? a : NULL;
    case TRANSPOSED: return ox_t(a);
    case ROWS: return ox_clone(ox_flip(a, OX_DIMS(0)));
    case SOFTMAX: return ox_softmax(a, (int)(l->number * 2) % 2);
    case SUM_EXPANDED: return ox_tanh(ox_sub(a, ox_sum(b, OX_DIMS(1), true)));
    case DROPOUT: return ox_dropout(a, 0.3, true);
    case CAT: {
        ox_tensor *both[2];
        both[0] = ox_narrow(a, 0, 0, side / 2);
        both[1] = ox_narrow(b, 0, side / 2, side - side / 2);
        return ox_cat(both, 2, 0);
    }
    case SORT: return ox_sort(a, 1, false).values;
    case COPY_SLICE:
        return ox_copy_(ox_narrow(a, 1, 0, side / 3), ox_narrow(b, 1, side / 3, side / 3)) ? a : NULL;
    case TRIANGLE: return ox_triu(a, 0);
    case CUMSUM: return ox_tanh(ox_cumsum(a, 0));
    case SQUARE_AGAIN: return ox_mul(a, a);
    default: return ox_clone(a);
    }
}

/* One pass over the live tensors; `out` gets the sum of all of them, which is read. */
static bool run_program(const program *p, ox_tensor **live, float *out) {
    bool good = true;
    OX_SCOPE {
        for (int i = 0; i < p->count && good; i++) {
            const line *l = &p->lines[i];
            ox_tensor *made = run_line(l, live[l->a], live[l->b], p->side);
            if (!made) {
                good = false;
                break;
            }
            ox_retain(made);
            ox_release(live[l->to]);
            live[l->to] = made;
        }
        ox_tensor *all = live[0];
        for (int i = 1; i < LIVE && good; i++) all = ox_add(all, live[i]);
        good = good && all && ox_to_floats(all, out, (int64_t)p->side * p->side) == OX_OK;
    }
    return good;
}

static void open_live(const program *p, ox_device *device, ox_tensor **live) {
    ox_manual_seed(p->seed + 1);
    OX_SCOPE {
        for (int i = 0; i < LIVE; i++)
            live[i] = ox_retain(ox_to(ox_randn(OX_SHAPE(p->side, p->side), OX_F32), device));
    }
}

static void close_live(ox_tensor **live) {
    for (int i = 0; i < LIVE; i++) ox_release(live[i]);
}

typedef float program_result[48 * 48];

/* What passes of a program give on a device that has room for all. */
static void run_passes(const program *p, ox_device *device, program_result *wanted, int passes) {
    ox_tensor *live[LIVE];
    bool good = true;
    open_live(p, device, live);
    for (int i = 0; i < passes && good; i++) good = run_program(p, live, wanted[i]);
    close_live(live);
    CHECK_MSG(good, "seed %llu: %s", (unsigned long long)p->seed, ox_error_text());
}

/* The same bits on a shunt, whose tensors stay open. */
static void check_passes(const program *p, ox_shunt *shunt, ox_tensor **live, program_result *wanted,
                         int passes) {
    static program_result got;
    size_t bytes = (size_t)p->side * (size_t)p->side * sizeof(float);
    open_live(p, ox_shunt_device(shunt), live);
    for (int i = 0; i < passes; i++) {
        bool ran = run_program(p, live, got);
        CHECK_MSG(ran && memcmp(got, wanted[i], bytes) == 0, "seed %llu, pass %d: %s",
                  (unsigned long long)p->seed, i, ox_error() ? ox_error_text() : "other bits");
        if (!ran) break;
    }
}

/* Where shunts spill to: memory, if there is such a folder. */
static const char *spill_folder(void) {
    const char *folder = getenv("OX_TEST_TMP");
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : folder ? folder : ".";
}

#endif
