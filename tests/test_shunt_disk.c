/* test_shunt_disk.c - plans within a budget of the disk: one that fits is found, by second runs or compressed
 * copies where others do not, or the step is an error before any of it has run, and what was there is as it
 * was; with just enough, one byte less, and none, and of random programs, some of them on a GPU. By hand:
 * test_shunt_disk 20000 FIRST-SEED [gpu]. */
#include "oxtorch_vulkan.h"
#include "shunt_check.h"
#include "shunt_program.h"

enum { SIDE = 128, BYTES = SIDE * SIDE * 4, MANY = 8, LARGE = 1 << 30 };

/* With one the disk is not measured, which takes blocks of its own. */
static int64_t no_fault(void *user, int64_t number, int64_t bytes) {
    (void)user, (void)number;
    return bytes;
}

static ox_shunt_desc short_desc(uint64_t disk_bytes) {
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = 4 * BYTES + 65536;
    desc.disk_bytes = disk_bytes;
    desc.spill = folder();
    desc.fault = no_fault;
    desc.raise = true;
    return desc;
}

static void make_many(ox_device *device, ox_tensor **w) {
    ox_manual_seed(5);
    OX_SCOPE {
        for (int i = 0; i < MANY; i++)
            w[i] = ox_retain(ox_to(ox_randn(OX_SHAPE(SIDE, SIDE), OX_F32), device));
    }
}

static void drop_many(ox_tensor **w) {
    for (int i = 0; i < MANY; i++) ox_release(w[i]);
}

/* Results that live long: made one after the other, read in the opposite order. `out`: the sum. */
static bool pass(ox_tensor **w, float *out) {
    ox_tensor *made[MANY], *x = w[0];
    OX_SCOPE {
        for (int i = 0; i < MANY; i++) made[i] = ox_gelu(w[i]);
        for (int i = MANY - 1; i >= 0; i--) x = ox_add(x, made[i]);
        if (x) ox_retain(x);
    } /* so that nobody holds what is between */
    bool good = x && ox_to_floats(x, out, SIDE * SIDE) == OX_OK;
    ox_release(x);
    return good;
}

typedef struct outcome {
    bool good;
    uint64_t peak;
    int64_t recomputed, steps;
} outcome;

static float wanted[SIDE * SIDE], got[SIDE * SIDE];

/* Two passes. What does not fit has not begun, says so, and leaves the weights; then a smaller step runs. */
static outcome run_short(const ox_shunt_desc *desc, ox_tensor **near) {
    ox_tensor *w[MANY];
    outcome o;
    ox_shunt *shunt = ox_shunt_open(desc);
    bool same = desc->compression == OX_COMPRESSION_NONE;
    make_many(ox_shunt_device(shunt), w);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    o.good = pass(w, got) && (!same || memcmp(got, wanted, sizeof got) == 0);
    if (o.good) o.good = pass(w, got) && (!same || memcmp(got, wanted, sizeof got) == 0);
    ox_shunt_stats s = ox_shunt_get_stats(shunt);
    if (!o.good) {
        CHECK_MSG(ox_error() == OX_ERR_NOMEM && strstr(ox_error_text(), "of the disk at once"), "%s",
                  ox_error_text());
        CHECK_MSG(s.compute_seconds == 0, "%g s of a step that does not fit", s.compute_seconds);
        ox_error_clear();
    }
    for (int i = 0; i < MANY; i++) CHECK(same_bits(w[i], near[i]));
    OX_SCOPE {
        CHECK(same_bits(ox_add(w[1], w[2]), ox_add(near[1], near[2])));
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    o.peak = ox_shunt_get_stats(shunt).disk_peak;
    o.recomputed = s.recomputed;
    o.steps = s.steps;
    CHECK_MSG(desc->disk_bytes == 0 || o.peak <= desc->disk_bytes, "%llu of %llu bytes",
              (unsigned long long)o.peak, (unsigned long long)desc->disk_bytes);
    drop_many(w);
    CHECK(ox_shunt_get_stats(shunt).disk_bytes == 0);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    return o;
}

/* Budgets from what the weights alone take to what the step takes without one. */
static void test_enough(void) {
    ox_tensor *near[MANY];
    make_many(ox_cpu(), near);
    CHECK(pass(near, wanted));
    ox_shunt_desc desc = short_desc(0);
    desc.recompute = OX_RECOMPUTE_OFF;
    const uint64_t all = run_short(&desc, near).peak, weights = (uint64_t)MANY * BYTES;
    CHECK_MSG(all > weights, "%llu bytes", (unsigned long long)all);
    desc.disk_bytes = LARGE;
    CHECK(run_short(&desc, near).good);
    desc.disk_bytes = all; /* just enough */
    CHECK(run_short(&desc, near).good);
    uint64_t least = all; /* that is enough for the best plan without second runs */
    while (least > weights && (desc.disk_bytes = least - BYTES, run_short(&desc, near).good)) least -= BYTES;
    CHECK(least > weights);
    desc.disk_bytes = least;
    CHECK(run_short(&desc, near).good);
    desc.disk_bytes = least - 1; /* one byte less */
    CHECK(!run_short(&desc, near).good);
    desc.disk_bytes = weights; /* none beside the weights: computed again */
    CHECK(!run_short(&desc, near).good);
    desc.recompute = OX_RECOMPUTE_AUTO;
    outcome again = run_short(&desc, near);
    CHECK_MSG(again.good && again.recomputed > 0, "%lld second runs", (long long)again.recomputed);
    desc.recompute = OX_RECOMPUTE_OFF; /* or compressed */
    desc.compression = OX_COMPRESSION_I8;
    desc.compress = OX_COMPRESS_ACTIVATIONS;
    desc.disk_bytes = least - BYTES / 2;
    CHECK(run_short(&desc, near).good);
    drop_many(near);
}

/* A disk of one byte: what fits the device runs, and what does not has not begun. */
static void test_none(void) {
    ox_shunt_desc desc = short_desc(1);
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        ox_capture_begin(shunt);
        ox_tensor *few = ox_full(OX_SHAPE(SIDE, SIDE), 2, OX_F32);
        CHECK_MSG(ox_item(ox_sum(ox_mul(few, few), OX_ALL_DIMS, false)) == 4.0 * SIDE * SIDE, "%s",
                  ox_error_text());
        ox_tensor *many[MANY], *all = NULL;
        for (int i = 0; i < MANY; i++) many[i] = ox_full(OX_SHAPE(SIDE, SIDE), i, OX_F32);
        all = ox_cat(many, MANY, 0);
        double sum = ox_item(ox_sum(all, OX_ALL_DIMS, false));
        CHECK_MSG(sum == 0 || ox_error() == OX_OK, "%g", sum);
        CHECK_MSG(ox_error() == OX_ERR_NOMEM, "%s", ox_error_text());
        ox_error_clear();
        CHECK_MSG(ox_item(ox_select(ox_select(few, 0, 3), 0, 4)) == 2, "%s", ox_error_text());
        ox_capture_end(shunt);
    }
    ox_error_clear();
    CHECK(ox_shunt_get_stats(shunt).disk_peak == 0);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* ---- random programs ----------------------------------------------------------------------------------- */

typedef struct totals {
    int64_t answers, errors, compressed;
} totals;

typedef float numbers[48 * 48];

static ox_device *computes;

/* What is left of the tensors that a pass began with, once it has failed. */
static void check_left(const program *p, ox_tensor **live, ox_tensor **before, numbers *had) {
    static numbers now;
    const size_t bytes = (size_t)p->side * (size_t)p->side * sizeof(float);
    for (int i = 0; i < LIVE; i++) {
        bool same = live[i] == before[i];
        bool read = ox_to_floats(live[i], now, (int64_t)p->side * p->side) == OX_OK;
        CHECK_MSG(!same || (read && memcmp(now, had[i], bytes) == 0), "seed %llu, tensor %d: %s",
                  (unsigned long long)p->seed, i, read ? "other numbers" : ox_error_text());
        ox_error_clear();
    }
}

/* With as much of the disk as may be wanted. */
static void run_easily(const program *p, ox_shunt_desc desc, program_result *right, int passes) {
    ox_tensor *live[LIVE];
    desc.disk_bytes = LARGE;
    desc.raise = false;
    ox_shunt *shunt = ox_shunt_open(&desc);
    check_passes(p, shunt, live, right, passes);
    close_live(live);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

static void run_seed(uint64_t seed, totals *t) {
    enum { PASSES = 3 };
    static program_result right[PASSES];
    static numbers had[LIVE], out;
    ox_tensor *live[LIVE], *before[LIVE];
    program p = draw_program(seed);
    const uint64_t one = (uint64_t)p.side * (uint64_t)p.side * 4, pages = (one + 4095) / 4096 * 4096;
    const int64_t count = (int64_t)p.side * p.side;
    ox_shunt_desc desc = short_desc(0);
    desc.compute = computes;
    desc.device_bytes = 6 * (one + 8192) + 65536 + draw(8 * one);
    desc.disk_bytes = LIVE * pages + draw(12 * pages);
    desc.host_bytes = draw(3) ? 0 : draw(8 * one);
    desc.recompute = (ox_recompute)draw(5);
    desc.search_seconds = 0.002;
    const bool packs = draw(4) == 0;
    desc.compression = packs ? OX_COMPRESSION_I8 : OX_COMPRESSION_NONE;
    desc.compress = packs ? OX_COMPRESS_ACTIVATIONS | (draw(2) ? (unsigned)OX_COMPRESS_ALWAYS : 0) : 0;
    desc.spill = spill_folder();
    run_passes(&p, computes, right, PASSES);
    if (!packs) run_easily(&p, desc, right, PASSES);
    ox_shunt *shunt = ox_shunt_open(&desc);
    open_live(&p, ox_shunt_device(shunt), live);
    bool good = true;
    for (int k = 0; k < PASSES && good; k++) {
        for (int i = 0; i < LIVE; i++) {
            before[i] = live[i];
            CHECK(ox_to_floats(live[i], had[i], count) == OX_OK);
            ox_retain(before[i]);
        }
        good = run_program(&p, live, out);
        const ox_shunt_stats s = ox_shunt_get_stats(shunt);
        bool same = !good || packs || memcmp(out, right[k], (size_t)count * sizeof *out) == 0;
        CHECK_MSG(same, "seed %llu, pass %d: other bits", (unsigned long long)seed, k);
        if (!good) {
            CHECK_MSG(ox_error() == OX_ERR_NOMEM && s.compute_seconds == 0, "seed %llu, pass %d: %g s, %s",
                      (unsigned long long)seed, k, s.compute_seconds, ox_error_text());
            ox_error_clear();
            check_left(&p, live, before, had);
        }
        for (int i = 0; i < LIVE; i++) ox_release(before[i]);
        t->answers += good;
        t->errors += !good;
        t->compressed += good && packs;
    }
    const uint64_t peak = ox_shunt_get_stats(shunt).disk_peak;
    CHECK_MSG(peak <= desc.disk_bytes, "seed %llu: %llu of %llu bytes", (unsigned long long)seed,
              (unsigned long long)peak, (unsigned long long)desc.disk_bytes);
    close_live(live);
    CHECK(ox_shunt_get_stats(shunt).disk_bytes == 0);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* On a GPU with little room on the host: what a plan sends to the disk takes none of it from what stays there,
 * whatever the lanes do first, so that a step either ends or has not begun. */
static void test_gpu(void) {
    static program_result right[1], out;
    const program p = draw_program(50);
    const uint64_t page = 4096;
    ox_shunt_desc desc = short_desc(0);
    ox_tensor *live[LIVE];
    int64_t answers = 0;
    if (!(desc.compute = ox_vulkan(0))) {
        check_skip("shunt_disk on a GPU", "no Vulkan device");
        ox_error_clear();
        return;
    }
    desc.device_bytes = 189563;
    desc.host_bytes = 44945;
    desc.recompute = OX_RECOMPUTE_CHEAP;
    desc.search_seconds = 0.002;
    desc.spill = spill_folder();
    run_passes(&p, desc.compute, right, 1);
    for (uint64_t pages = 58; pages <= 72; pages++) {
        desc.disk_bytes = pages * page;
        ox_shunt *shunt = ox_shunt_open(&desc);
        open_live(&p, ox_shunt_device(shunt), live);
        const bool good = run_program(&p, live, out);
        const double computed = ox_shunt_get_stats(shunt).compute_seconds;
        CHECK_MSG(good || (ox_error() == OX_ERR_NOMEM && computed == 0), "%d pages: %g s, %s", (int)pages,
                  computed, ox_error_text());
        CHECK(!good || memcmp(out, right[0], (size_t)p.side * (size_t)p.side * sizeof *out) == 0);
        answers += good;
        ox_error_clear();
        close_live(live);
        CHECK(ox_shunt_close(shunt) == OX_OK);
    }
    CHECK_MSG(answers > 0, "%s", "no answer at all");
}

int main(int count, char **words) {
    long seeds = count > 1 ? atol(words[1]) : 80;
    uint64_t first = count > 2 ? strtoull(words[2], NULL, 10) : 1;
    totals t;
    memset(&t, 0, sizeof t);
    ox_set_threads(1);
    if (count < 2) {
        test_enough();
        test_none();
        test_gpu();
    }
    computes = count > 3 ? ox_vulkan(0) : ox_cpu();
    if (!computes) return 1;
    for (long i = 0; i < seeds; i++) run_seed(first + (uint64_t)i, &t);
    CHECK_MSG(t.answers > 0 && t.errors > 0 && t.compressed > 0, "%lld answers, %lld errors",
              (long long)t.answers, (long long)t.errors);
    if (count > 1) printf("%lld answers, %lld errors\n", (long long)t.answers, (long long)t.errors);
    CHECK_NO_TENSORS();
    return check_done("shunt_disk");
}
