/* test_shunt_random.c - random programs: operations, views, changes in place, deaths and reads in any
 * order, each
 * run a few times over, on the CPU and on shunts of random budgets; the same bits, and no budget exceeded.
 * By hand: test_shunt_random 100000 FIRST-SEED. OX_TSAN */
#include "check.h"
#include "oxtorch_stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t state;

static uint64_t draw(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

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

typedef struct totals {
    int64_t plans, replays, steps, recomputed;
} totals;

/* Whether pass after pass has the bits of the CPU's. */
static void run_seed(uint64_t seed, totals *t) {
    enum { PASSES = 4 };
    static float wanted[PASSES][48 * 48], got[48 * 48];
    ox_tensor *live[LIVE];
    program p = draw_program(seed);
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    uint64_t one = (uint64_t)p.side * (uint64_t)p.side * 4, least = 6 * (one + 8192);
    desc.device_bytes = draw(8) == 0 ? 0 : (least > 65536 ? least : 65536) + draw(20 * one);
    desc.host_bytes = draw(2) ? draw(12 * one) : 0;
    desc.recompute = (ox_recompute)draw(5);
    desc.eager = draw(10) == 0;
    desc.search_seconds = draw(10) == 0 ? 0 : 0.002; /* what is looked for here are plans, not good ones */
    const char *folder = getenv("OX_TEST_TMP");
    desc.spill = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : folder ? folder : ".";
    size_t bytes = (size_t)one;
    bool good = true;
    open_live(&p, ox_cpu(), live);
    for (int i = 0; i < PASSES && good; i++) good = run_program(&p, live, wanted[i]);
    close_live(live);
    CHECK_MSG(good, "seed %llu: %s", (unsigned long long)seed, ox_error_text());
    ox_shunt *shunt = ox_shunt_open(&desc);
    open_live(&p, ox_shunt_device(shunt), live);
    for (int i = 0; i < PASSES; i++) {
        bool ran = run_program(&p, live, got);
        CHECK_MSG(ran && memcmp(got, wanted[i], bytes) == 0, "seed %llu, pass %d: %s",
                  (unsigned long long)seed, i, ox_error() ? ox_error_text() : "other bits");
        if (!ran) break;
    }
    ox_shunt_stats s = ox_shunt_get_stats(shunt);
    CHECK_MSG(desc.device_bytes == 0 || s.device_peak <= desc.device_bytes, "seed %llu: %llu of %llu bytes",
              (unsigned long long)seed, (unsigned long long)s.device_peak,
              (unsigned long long)desc.device_bytes);
    CHECK_MSG(s.host_peak <= desc.host_bytes, "seed %llu: %llu bytes of the host", (unsigned long long)seed,
              (unsigned long long)s.host_peak);
    t->plans += s.plans;
    t->replays += s.replays;
    t->steps += s.steps;
    t->recomputed += s.recomputed;
    close_live(live);
    s = ox_shunt_get_stats(shunt);
    CHECK_MSG(s.device_bytes == 0 && s.host_bytes == 0 && s.disk_bytes == 0, "seed %llu: bytes left",
              (unsigned long long)seed);
    ox_shunt_close(shunt);
    ox_error_clear();
}

int main(int count, char **words) {
#ifdef __SANITIZE_THREAD__
    long seeds = 20;
#else
    long seeds = 300;
#endif
    uint64_t first = 1;
    totals t;
    memset(&t, 0, sizeof t);
    if (count > 1) seeds = atol(words[1]);
    if (count > 2) first = strtoull(words[2], NULL, 10);
    ox_set_threads(1); /* the programs are small */
    for (long i = 0; i < seeds; i++) run_seed(first + (uint64_t)i, &t);
    CHECK(t.plans > 0 && t.replays > 0); /* whether it pays to recompute depends on times */
    if (count > 1)
        printf("%lld steps, %lld plans, %lld replays, %lld recomputed\n", (long long)t.steps,
               (long long)t.plans, (long long)t.replays, (long long)t.recomputed);
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0, "%lld tensors left",
              (long long)ox_memory_get_stats().tensors);
    return check_done("shunt_random");
}
