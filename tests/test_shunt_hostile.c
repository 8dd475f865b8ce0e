/* test_shunt_hostile.c - steps that no planner likes: tensors larger than the budget, without a byte,
 * operands that are given twice or three times, results that are operands, views of what changes in place,
 * what dies before it runs, what is all held, and a table that is wanted at both ends of a step. On shunts of
 * several budgets, with plans and call by call, each step three times; the bits of the CPU, and no budget
 * exceeded. */
#include "check.h"
#include "oxtorch_stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 96, LONG = 700, PASSES = 3 };

/* Each takes a [SIDE, SIDE] and a [LONG, SIDE] tensor and gives one; NULL: an error. */
static ox_tensor *empty_ones(ox_tensor *a, ox_tensor *b) {
    ox_tensor *none = ox_narrow(b, 0, 3, 0), *parts[3];
    parts[0] = ox_mul(none, none);
    parts[1] = ox_narrow(a, 0, 0, SIDE);
    parts[2] = ox_clone(none);
    ox_tensor *sum = ox_sum(none, OX_DIMS(0), true); /* zeros of an empty dim */
    return ox_add(ox_cat(parts, 3, 0), sum);
}
static ox_tensor *empty_in_place(ox_tensor *a, ox_tensor *b) {
    ox_tensor *none = ox_narrow(a, 1, 7, 0);
    if (!ox_add_scaled_(none, none, 2) || !ox_copy_(none, ox_narrow(ox_narrow(b, 0, 0, SIDE), 1, 0, 0)))
        return NULL;
    return ox_matmul(none, ox_t(none)); /* zeros */
}
static ox_tensor *same_twice(ox_tensor *a, ox_tensor *b) {
    ox_tensor *x = ox_add(a, a), *three[3] = {x, x, x};
    (void)b;
    return ox_add(ox_cat(three, 3, 1), ox_cat(three, 3, 1));
}
static ox_tensor *same_in_place(ox_tensor *a, ox_tensor *b) {
    (void)b;
    if (!ox_add_scaled_(a, a, -0.5) || !ox_mul_(a, a) || !ox_copy_(a, a)) return NULL;
    return ox_matmul(a, a);
}
static ox_tensor *views_in_place(ox_tensor *a, ox_tensor *b) {
    (void)b;
    ox_tensor *left = ox_narrow(a, 1, 0, SIDE / 2), *right = ox_narrow(a, 1, SIDE / 2, SIDE / 2);
    ox_tensor *before = ox_mul_number(left, 3);
    if (!ox_copy_(left, right) || !ox_add_scaled_(right, left, 0.25)) return NULL;
    return ox_add(before, ox_add(left, right));
}
static ox_tensor *large_ones(ox_tensor *a, ox_tensor *b) {
    ox_tensor *x = ox_linear(b, a, NULL);
    return ox_add(ox_gelu(x), b);
}
static ox_tensor *large_in_place(ox_tensor *a, ox_tensor *b) {
    (void)a;
    if (!ox_add_scaled_(b, b, 0.5) || !ox_mul_number_(ox_narrow(b, 0, LONG / 2, 9), 2)) return NULL;
    return ox_tanh(b);
}
static ox_tensor *dies_early(ox_tensor *a, ox_tensor *b) {
    for (int i = 0; i < 5; i++) {
        ox_tensor *x = ox_exp(b);
        if (!x) return NULL;
        ox_release(x); /* nobody ever asks for it */
    }
    return ox_neg(a);
}
static ox_tensor *is_operand(ox_tensor *a, ox_tensor *b) {
    (void)b;
    return a;
}

/* Whatever is made is held until the numbers are read, and needed by one that comes much later. */
static ox_tensor *all_held(ox_tensor *a, ox_tensor *b) {
    enum { COUNT = 60 };
    ox_tensor *made[COUNT];
    (void)b;
    made[0] = a;
    for (int i = 1; i < COUNT; i++) {
        ox_tensor *x = made[i - 1], *early = made[i * 7 % i];
        made[i] = i % 3 == 0 ? ox_tanh(ox_matmul(x, early)) : ox_add(ox_mul_number(x, 0.5), ox_t(early));
    }
    ox_tensor *sum = made[0];
    for (int i = 1; i < COUNT; i += 3) sum = ox_add(sum, made[i]);
    return sum;
}
/* Views that overlap, and transposed ones, of an item that changes 48 times. */
static ox_tensor *chain_in_place(ox_tensor *a, ox_tensor *b) {
    (void)b;
    for (int i = 0; i < 48; i++) {
        ox_tensor *x = ox_narrow(a, i & 1, i, 32), *y = ox_narrow(a, i & 1, SIDE - 32 - i / 2, 32);
        bool good = i % 4 == 0   ? ox_add_scaled_(x, ox_clone(y), 0.1) != NULL
                    : i % 4 == 1 ? ox_copy_(x, ox_tanh(y)) != NULL
                    : i % 4 == 2 ? ox_tanh_(ox_t(a)) != NULL
                                 : ox_mul_number_(ox_select(a, 0, i), 0.9) != NULL;
        if (!good) return NULL;
    }
    if (!ox_add_scaled_(a, ox_t(ox_clone(a)), 0.5)) return NULL;
    return ox_add(a, ox_t(a));
}
/* An item that hundreds of calls read, some of them many times, and then change. */
static ox_tensor *star(ox_tensor *a, ox_tensor *b) {
    ox_tensor *rows[24], *sum = a;
    (void)b;
    for (int i = 0; i < 200; i++) sum = ox_add(sum, ox_mul_number(ox_narrow(a, 0, 0, SIDE), 0.001 * i));
    for (int i = 0; i < 24; i++) rows[i] = ox_narrow(a, 0, i, 4);
    ox_tensor *all = ox_cat(rows, 24, 0);
    if (!ox_add_scaled_(a, sum, -0.001)) return NULL;
    return ox_add(all, ox_where(ox_gt(a, all), a, all));
}
/* A table that the step begins with and is multiplied by in its middle, with a gradient of its size that is
 * whole at the end alone, as language models have. */
static ox_tensor *tied_table(ox_tensor *a, ox_tensor *b) {
    ox_tensor *x = ox_narrow(b, 0, 3, SIDE), *before[9];
    for (int i = 0; i < 9; i++) x = ox_tanh(ox_matmul(before[i] = x, a));
    ox_tensor *likely = ox_softmax(ox_matmul(x, ox_t(b)), 1), *gradient = ox_matmul(ox_t(likely), x);
    for (int i = 8; i >= 0; i--) {
        if (!ox_add_scaled_(a, ox_matmul(ox_t(before[i]), x), -0.0001)) return NULL;
        x = ox_tanh(ox_matmul(x, ox_t(a)));
    }
    if (!ox_add_scaled_(ox_narrow(gradient, 0, 3, SIDE), x, 1)) return NULL;
    return ox_add_scaled_(b, gradient, -0.01);
}

typedef ox_tensor *(*work)(ox_tensor *, ox_tensor *);
static const struct {
    const char *name;
    work run;
} works[] = {{"empty ones", empty_ones},
             {"empty, in place", empty_in_place},
             {"the same twice", same_twice},
             {"the same, in place", same_in_place},
             {"views, in place", views_in_place},
             {"larger than the budget", large_ones},
             {"large, in place", large_in_place},
             {"dies early", dies_early},
             {"an operand", is_operand},
             {"all held", all_held},
             {"a chain, in place", chain_in_place},
             {"a star", star},
             {"a tied table", tied_table}};

static float wanted[PASSES][LONG * SIDE * 3], got[LONG * SIDE * 3];

/* The numbers of a pass in `out`; how many, or -1. The operands live on, as the pass left them. */
static int64_t pass(work run, ox_tensor *a, ox_tensor *b, float *out) {
    int64_t count = -1;
    OX_SCOPE {
        ox_tensor *made = run(a, b);
        if (made && ox_to_floats(made, out, ox_numel(made)) == OX_OK) count = ox_numel(made);
    }
    return count;
}

static void open_operands(ox_device *device, ox_tensor **in) {
    ox_manual_seed(5);
    OX_SCOPE {
        in[0] = ox_retain(ox_to(ox_mul_number(ox_randn(OX_SHAPE(SIDE, SIDE), OX_F32), 0.1), device));
        in[1] = ox_retain(ox_to(ox_mul_number(ox_randn(OX_SHAPE(LONG, SIDE), OX_F32), 0.1), device));
    }
}

static void check_work(size_t which, uint64_t device_bytes, uint64_t host_bytes, bool eager) {
    const char *folder = getenv("OX_TEST_TMP");
    int64_t count[PASSES];
    ox_tensor *in[2];
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = device_bytes;
    desc.host_bytes = host_bytes;
    desc.eager = eager;
    desc.spill = folder ? folder : ".";
    open_operands(ox_cpu(), in);
    for (int i = 0; i < PASSES; i++) count[i] = pass(works[which].run, in[0], in[1], wanted[i]);
    for (int i = 0; i < 2; i++) ox_release(in[i]);
    ox_shunt *shunt = ox_shunt_open(&desc);
    open_operands(ox_shunt_device(shunt), in);
    for (int i = 0; i < PASSES; i++) {
        int64_t numbers = pass(works[which].run, in[0], in[1], got);
        bool same = numbers == count[i] &&
                    (numbers <= 0 || memcmp(got, wanted[i], (size_t)numbers * sizeof *got) == 0);
        CHECK_MSG(count[i] >= 0, "%s: the CPU says %s", works[which].name, ox_error_text());
        CHECK_MSG(same, "%s, %llu bytes, eager %d, pass %d: %lld numbers, %s", works[which].name,
                  (unsigned long long)device_bytes, eager, i, (long long)numbers, ox_error_text());
    }
    ox_shunt_stats s = ox_shunt_get_stats(shunt);
    CHECK_MSG(device_bytes == 0 || s.device_peak <= device_bytes, "%s: %llu of %llu bytes", works[which].name,
              (unsigned long long)s.device_peak, (unsigned long long)device_bytes);
    CHECK(s.host_peak <= host_bytes);
    for (int i = 0; i < 2; i++) ox_release(in[i]);
    s = ox_shunt_get_stats(shunt);
    CHECK(s.device_bytes == 0 && s.host_bytes == 0 && s.disk_bytes == 0);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    ox_error_clear();
}

int main(void) {
    static const uint64_t budgets[] = {0, 200000, 320000, 1000000};
    for (size_t w = 0; w < sizeof works / sizeof *works; w++)
        for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++)
            for (int k = 0; k < 4; k++) check_work(w, budgets[b], k & 1 ? 50000 : 0, k > 1);
    CHECK_NO_TENSORS();
    return check_done("shunt_hostile");
}
