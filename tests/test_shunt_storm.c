/* test_shunt_storm.c - random programs within random budgets while the disk fails now and then, memory is
 * refused, or the process is killed: an error or the right bits; afterwards the same shunt works, and no
 * spill file is left. By hand: test_shunt_storm 5000 FIRST-SEED. */
#include "check.h"
#include "disk_faults.h"
#include "hook_alloc.h"
#include "oxtorch_stream.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "shunt_program.h"

enum { PASSES = 3 };

static char folder[300];
static fault now;
static hook memory;
static program_result wanted[PASSES];

static int files_in_folder(void) {
    DIR *d = opendir(folder);
    int count = 0;
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) count += e->d_name[0] != '.';
    if (d) closedir(d);
    return d ? count : -1;
}

static ox_shunt_desc draw_desc(const program *p) {
    const uint64_t one = (uint64_t)p->side * (uint64_t)p->side * 4, page = (one + 4095) / 4096 * 4096;
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = 6 * (one + 8192) + 65536 + draw(10 * one);
    desc.host_bytes = draw(2) ? draw(8 * one) : 0;
    desc.disk_bytes = draw(3) ? 0 : (LIVE + 8) * page + draw(12 * page);
    desc.recompute = (ox_recompute)draw(5);
    desc.eager = draw(6) == 0;
    desc.raise = draw(2) == 0;
    desc.search_seconds = 0.002;
    desc.spill = folder;
    desc.fault = fault_at;
    desc.fault_user = &now;
    return desc;
}

/* Whether all passes ran, with the right bits or else an error. */
static bool run_once(const program *p, ox_shunt *shunt, int64_t allow) {
    static program_result got;
    const size_t bytes = (size_t)p->side * (size_t)p->side * sizeof(float);
    ox_tensor *live[LIVE];
    bool good = true;
    open_live(p, ox_shunt_device(shunt), live);
    for (int i = 0; i < LIVE; i++) good = good && live[i];
    hook_allow(&memory, allow);
    for (int k = 0; k < PASSES && good; k++) {
        good = run_program(p, live, got);
        bool right = good ? memcmp(got, wanted[k], bytes) == 0 : ox_error() != OX_OK;
        CHECK_MSG(right, "seed %llu, pass %d: %s", (unsigned long long)p->seed, k,
                  good ? "other bits" : "no error");
    }
    hook_allow(&memory, INT64_MAX);
    close_live(live);
    return good;
}

typedef struct totals {
    int64_t answers, errors, short_of_disk;
} totals;

static void run_seed(uint64_t seed, totals *t) {
    program p = draw_program(seed);
    ox_shunt_desc desc = draw_desc(&p);
    const bool refuses = draw(3) == 0;
    const int kind = (int)draw(FAULT_KINDS);
    const int64_t every = 1 + (int64_t)draw(40), allow = refuses ? (int64_t)draw(400) : INT64_MAX;
    run_passes(&p, ox_cpu(), wanted, PASSES);
    ox_shunt *shunt = ox_shunt_open(&desc);
    CHECK_MSG(shunt != NULL, "%s", ox_error_text());
    if (!refuses) set_fault(&now, kind, every);
    bool good = run_once(&p, shunt, allow);
    set_fault(&now, 0, 0);
    CHECK_MSG(good || refuses || !is_harmless(kind, every) || ox_error() == OX_ERR_NOMEM, "seed %llu: %s",
              (unsigned long long)seed, ox_error_text());
    t->answers += good;
    t->errors += !good;
    ox_error_clear();
    if (desc.disk_bytes == 0 && !desc.raise) {
        ox_tensor *live[LIVE];
        check_passes(&p, shunt, live, wanted, PASSES);
        close_live(live);
        good = true;
    } else {
        good = run_once(&p, shunt, INT64_MAX);
    }
    CHECK_MSG(good || ox_error() == OX_ERR_NOMEM, "seed %llu, then: %s", (unsigned long long)seed,
              ox_error_text());
    t->short_of_disk += !good;
    ox_error_clear();
    const ox_shunt_stats s = ox_shunt_get_stats(shunt);
    CHECK_MSG(s.device_bytes == 0 && s.host_bytes == 0 && s.disk_bytes == 0, "seed %llu: %llu bytes left",
              (unsigned long long)seed, (unsigned long long)(s.device_bytes + s.host_bytes + s.disk_bytes));
    CHECK(ox_shunt_close(shunt) == OX_OK);
    CHECK(files_in_folder() == 0);
}

/* Before there are threads: a child that goes through programs is killed. */
static void test_kill(uint64_t first) {
    for (uint64_t i = 0; i < 6; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (uint64_t seed = first + 100 * i;; seed++) {
                static program_result got;
                ox_tensor *live[LIVE];
                program p = draw_program(seed);
                ox_shunt_desc desc = draw_desc(&p);
                ox_shunt *shunt = ox_shunt_open(&desc);
                open_live(&p, ox_shunt_device(shunt), live);
                for (int k = 0; k < 200; k++) (void)run_program(&p, live, got);
                close_live(live);
                ox_shunt_close(shunt);
            }
        }
        usleep((useconds_t)(15000 + 23000 * i));
        int status = 0;
        CHECK(child > 0 && kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        CHECK(files_in_folder() == 0);
    }
}

int main(int count, char **words) {
    const long seeds = count > 1 ? atol(words[1]) : 60;
    const uint64_t first = count > 2 ? strtoull(words[2], NULL, 10) : 1;
    const ox_allocator allocator = {hook_alloc, hook_free, &memory};
    totals t;
    memset(&t, 0, sizeof t);
    snprintf(folder, sizeof folder, "%s/shunt-storm-%d", spill_folder(), (int)getpid());
    CHECK(mkdir(folder, 0700) == 0);
    test_kill(first);
    ox_set_threads(1);
    hook_allow(&memory, INT64_MAX);
    memory.fails = 1;
    CHECK(ox_set_allocator(&allocator) == OX_OK);
    for (long i = 0; i < seeds; i++) run_seed(first + (uint64_t)i, &t);
    CHECK_MSG(t.answers > 0 && t.errors > 0, "%lld answers, %lld errors", (long long)t.answers,
              (long long)t.errors);
    if (count > 1)
        printf("%lld answers, %lld errors, %lld short of the disk\n", (long long)t.answers,
               (long long)t.errors, (long long)t.short_of_disk);
    CHECK(rmdir(folder) == 0);
    CHECK_NO_TENSORS();
    ox_trim();
    CHECK(ox_set_allocator(NULL) == OX_OK);
    return check_done("shunt_storm");
}
