/* test_shunt_random.c - random programs: operations, views, changes in place, deaths and reads in any order,
 * each run a few times over, on the CPU and on shunts of random budgets; the same bits, and no budget
 * exceeded. By hand: test_shunt_random 100000 FIRST-SEED. OX_TSAN */
#include "check.h"
#include "oxtorch_stream.h"

#include <unistd.h>

#include "shunt_program.h"

typedef struct totals {
    int64_t plans, replays, steps, recomputed;
} totals;

/* Takes what is measured when a shunt first runs: in blocks of 16 MiB, which are no budget's. */
static void run_first(ox_shunt *shunt) {
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(8, 8), OX_F32), ox_shunt_device(shunt));
        CHECK(ox_item(ox_sum(ox_add(x, x), OX_ALL_DIMS, false)) == 128);
    }
    ox_memory_reset_peak();
}

/* Bytes that the pool handed out at most, beside those of before: the budgets, and what operations need, in
 * each thread, and the planner. Where the host has a budget the disk is measured with a block of 16 MiB on
 * the way. */
static void check_pool(const ox_shunt_desc *desc, size_t before, uint64_t seed) {
    const size_t beside = (size_t)((desc->host_bytes > 0 ? 18 : 1) + ox_threads()) << 20;
    const size_t taken = ox_memory_get_stats().bytes_peak - before;
    CHECK_MSG(desc->device_bytes == 0 || taken <= desc->device_bytes + desc->host_bytes + beside,
              "seed %llu: %llu bytes of the pool", (unsigned long long)seed, (unsigned long long)taken);
}

/* Whether pass after pass has the bits of the CPU's. */
static void run_seed(uint64_t seed, totals *t) {
    enum { PASSES = 4 };
    static program_result wanted[PASSES];
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
    desc.spill = spill_folder();
    run_passes(&p, ox_cpu(), wanted, PASSES);
    ox_shunt *shunt = ox_shunt_open(&desc);
    const size_t before = ox_memory_get_stats().bytes_in_use;
    run_first(shunt);
    check_passes(&p, shunt, live, wanted, PASSES);
    check_pool(&desc, before, seed);
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
    CHECK_NO_TENSORS();
    return check_done("shunt_random");
}
