/* test_shunt_faults.c - disks that fail, end early, have no room or are slow to answer at every n-th
 * transfer,
 * allocations that fail, a kill in the middle of a step: an error or the right answer, never anything
 * else; the
 * shunt works afterwards, files of the user's are as they were, and nothing stays in the spill folder. */
#include "disk_faults.h"
#include "hook_alloc.h"
#include "oxtorch_stream.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static fault now;

static char folder[400];
static hook memory;

static int files_in_folder(void) {
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) count += e->d_name[0] != '.';
    if (dir) closedir(dir);
    return count;
}

enum { SIDE = 64, WEIGHTS = 12 };

/* Weights that do not fit all at once, changed on the way. */
static ox_tensor *work(ox_tensor **w, ox_tensor *x) {
    ox_tensor *h = x;
    for (int i = 0; i < WEIGHTS; i++) h = ox_tanh(ox_mul_number(ox_matmul(h, w[i]), 0.2));
    for (int i = 0; i < WEIGHTS; i++)
        if (!ox_add_scaled_(w[i], h, 0.01)) return NULL;
    return ox_sum(h, OX_DIMS(0), false);
}

static void make_weights(ox_device *device, ox_tensor **w) {
    ox_manual_seed(3);
    for (int i = 0; i < WEIGHTS; i++)
        OX_SCOPE {
            w[i] = ox_retain(ox_to(ox_randn(OX_SHAPE(SIDE, SIDE), OX_F32), device));
        }
}

static void drop_weights(ox_tensor **w) {
    for (int i = 0; i < WEIGHTS; i++) ox_release(w[i]);
}

static bool answer(ox_tensor **w, float *out) {
    bool good = false;
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(SIDE, SIDE), OX_F32), w[0] ? ox_device_of(w[0]) : ox_cpu());
        ox_tensor *y = w[WEIGHTS - 1] ? work(w, x) : NULL;
        good = y && ox_to_floats(y, out, SIDE) == OX_OK;
    }
    return good;
}

static ox_shunt_desc small_desc(void) {
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = 6 * SIDE * SIDE * 4 + 65536;
    desc.spill = folder;
    desc.fault = fault_at;
    desc.fault_user = &now;
    return desc;
}

static ox_shunt *open_small(bool eager) {
    ox_shunt_desc desc = small_desc();
    desc.eager = eager;
    return ox_shunt_open(&desc);
}

static void test_every(bool eager) {
    float wanted[SIDE], got[SIDE];
    ox_tensor *w[WEIGHTS];
    int errors = 0, answers = 0;
    make_weights(ox_cpu(), w);
    CHECK(answer(w, wanted));
    drop_weights(w);
    for (int kind = 0; kind < FAULT_KINDS; kind++)
        for (int64_t every = 1; every < 60; every += every < 10 ? 1 : 7) {
            ox_shunt *shunt = open_small(eager);
            make_weights(ox_shunt_device(shunt), w);
            ox_error_clear();
            set_fault(&now, kind, every);
            bool good = answer(w, got);
            set_fault(&now, 0, 0);
            bool harmless = is_harmless(kind, every);
            CHECK_MSG(good ? memcmp(got, wanted, sizeof got) == 0 : ox_error() != OX_OK && !harmless,
                      "kind %d every %lld: %s", kind, (long long)every, ox_error_text());
            errors += !good;
            answers += good;
            ox_error_clear();
            drop_weights(w); /* then it works as one that never failed */
            make_weights(ox_shunt_device(shunt), w);
            CHECK_MSG(answer(w, got) && memcmp(got, wanted, sizeof got) == 0, "after kind %d every %lld: %s",
                      kind, (long long)every, ox_error_text());
            ox_error_clear();
            drop_weights(w);
            CHECK(ox_shunt_close(shunt) == OX_OK);
            CHECK(files_in_folder() == 0);
        }
    CHECK_MSG(errors > 20 && answers > 20, "%d errors, %d answers", errors, answers);
}

/* ---- loads that are begun when the step before ends ---------------------------------------------------- */

enum { WIDE = 160, STEPS = 9 };

static ox_tensor *wide_step(ox_tensor **w, ox_tensor *x) {
    ox_tensor *h = ox_retain(x), *sum;
    for (int i = 0; i < WEIGHTS; i++)
        OX_SCOPE {
            ox_tensor *next = ox_retain(ox_tanh(ox_mul_number(ox_matmul(h, w[i]), 0.2)));
            ox_release(h);
            h = next;
        }
    sum = ox_sum(h, OX_DIMS(0), false);
    ox_release(h);
    return sum;
}

/* The same step over and over; then a weight is changed, another one given up and made anew, one is read. */
static bool wide_steps(ox_device *device, float *out) {
    ox_tensor *w[WEIGHTS];
    float read[4];
    bool good = true;
    ox_manual_seed(5);
    for (int i = 0; i < WEIGHTS; i++)
        OX_SCOPE {
            w[i] = ox_retain(ox_to(ox_randn(OX_SHAPE(WIDE, WIDE), OX_F32), device));
        }
    for (int step = 0; step < STEPS && good; step++)
        OX_SCOPE {
            ox_tensor *x = ox_to(ox_ones(OX_SHAPE(WIDE, WIDE), OX_F32), device);
            ox_tensor *y = wide_step(w, x);
            good = y && ox_to_floats(y, out + step * WIDE, WIDE) == OX_OK;
            if (step == 5) good = good && ox_mul_number_(w[0], 0.5) && ox_device_sync(device) == OX_OK;
            if (step == 6) {
                for (int i = 0; i < 4; i++) ox_release(w[i]);
                for (int i = 0; i < 4; i++)
                    w[i] = ox_retain(ox_to(ox_full(OX_SHAPE(WIDE, WIDE), 0.01 * i, OX_F32), device));
            }
            if (step == 7)
                for (int i = 0; i < WEIGHTS && good; i++)
                    good = ox_to_floats(ox_narrow(ox_select(w[i], 0, 0), 0, 0, 4), read, 4) == OX_OK;
        }
    drop_weights(w);
    return good;
}

static void test_ahead(void) {
    static float wanted[STEPS * WIDE], got[STEPS * WIDE];
    int errors = 0, answers = 0;
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = 5 * WIDE * WIDE * 4 + 131072;
    desc.spill = folder;
    desc.fault = fault_at;
    desc.fault_user = &now;
    CHECK(wide_steps(ox_cpu(), wanted));
    for (int kind = -1; kind < FAULT_KINDS; kind++) /* -1: none */
        for (int64_t every = 3; every < (kind < 0 ? 4 : 120); every += 13) {
            ox_shunt *shunt = ox_shunt_open(&desc);
            set_fault(&now, kind < 0 ? 0 : kind, kind < 0 ? 0 : every);
            bool good = wide_steps(ox_shunt_device(shunt), got);
            set_fault(&now, 0, 0);
            CHECK_MSG(good ? memcmp(got, wanted, sizeof got) == 0
                           : ox_error() != OX_OK && kind >= 0 && !is_harmless(kind, every),
                      "kind %d every %lld: %s", kind, (long long)every, ox_error_text());
            errors += !good;
            answers += good;
            ox_error_clear();
            ox_shunt_stats s = ox_shunt_get_stats(shunt);
            CHECK_MSG(kind >= 0 || s.ahead_bytes > 0, "nothing was loaded ahead");
            CHECK(s.device_peak <= desc.device_bytes);
            CHECK_MSG(!good || (s.device_bytes == 0 && s.disk_bytes == 0), "kind %d every %lld: %llu left",
                      kind, (long long)every, (unsigned long long)(s.device_bytes + s.disk_bytes));
            CHECK(ox_shunt_close(shunt) == OX_OK);
            CHECK(files_in_folder() == 0);
        }
    CHECK_MSG(errors > 5 && answers > 5, "%d errors, %d answers", errors, answers);
}

/* ---- files of the user's ------------------------------------------------------------------------------- */

static long read_file(const char *path, char *out, long most) {
    FILE *file = fopen(path, "rb");
    long got = file ? (long)fread(out, 1, (size_t)most, file) : -1;
    if (file) fclose(file);
    return got;
}

/* Weights that lie in a file and are changed in place, on a disk that fails: the file has its bytes, and a
 * shunt without faults reads them from it. */
static void test_file(void) {
    static char before[WEIGHTS * SIDE * SIDE * 4 + 4096], after[sizeof before];
    char path[500], names[WEIGHTS][8];
    const char *name[WEIGHTS];
    ox_tensor *w[WEIGHTS];
    float wanted[SIDE], got[SIDE];
    int errors = 0;
    CHECK((size_t)snprintf(path, sizeof path, "%s.safetensors", folder) < sizeof path);
    make_weights(ox_cpu(), w);
    for (int i = 0; i < WEIGHTS; i++) {
        snprintf(names[i], sizeof names[i], "w%d", i);
        name[i] = names[i];
    }
    CHECK(ox_save_safetensors(path, name, w, WEIGHTS, NULL, 0, 0) == OX_OK);
    CHECK(answer(w, wanted));
    drop_weights(w);
    long bytes = read_file(path, before, sizeof before);
    CHECK(bytes > WEIGHTS * SIDE * SIDE * 4);
    for (int kind = 0; kind < FAULT_KINDS; kind++)
        for (int64_t every = 0; every < 40; every += 7) { /* 0: none */
            ox_shunt *shunt = open_small(false);
            ox_file *file = ox_file_open(path, ox_shunt_device(shunt));
            for (int i = 0; i < WEIGHTS; i++) w[i] = file ? ox_file_tensor(file, name[i]) : NULL;
            CHECK_MSG(file && w[WEIGHTS - 1], "%s", ox_error_text());
            ox_file_close(file);
            set_fault(&now, kind, every);
            bool good = answer(w, got) && ox_device_sync(ox_shunt_device(shunt)) == OX_OK;
            set_fault(&now, 0, 0);
            CHECK_MSG(good ? memcmp(got, wanted, sizeof got) == 0 : ox_error() != OX_OK && every > 0,
                      "kind %d every %lld: %s", kind, (long long)every, ox_error_text());
            errors += !good;
            ox_error_clear();
            drop_weights(w);
            CHECK(ox_shunt_close(shunt) == OX_OK);
            CHECK(files_in_folder() == 0);
            CHECK(read_file(path, after, sizeof after) == bytes);
            CHECK(memcmp(before, after, (size_t)bytes) == 0);
        }
    CHECK_MSG(errors > 3, "%d errors", errors);
    CHECK(remove(path) == 0);
}

/* The answer of the CPU; from then on all memory is the hook's. */
static void begin_memory(float *wanted) {
    ox_tensor *w[WEIGHTS];
    const ox_allocator allocator = {hook_alloc, hook_free, &memory};
    make_weights(ox_cpu(), w);
    CHECK(answer(w, wanted));
    drop_weights(w);
    hook_allow(&memory, INT64_MAX);
    ox_trim();
    CHECK_MSG(ox_set_allocator(&allocator) == OX_OK, "%s", ox_error_text());
}

/* Every n-th allocation fails: an error or the right answer, and a later run is right. */
static void test_memory(void) {
    int errors = 0;
    float wanted[SIDE], got[SIDE];
    ox_tensor *w[WEIGHTS];
    begin_memory(wanted);
    ox_shunt *shunt = open_small(false);
    for (int64_t at = 0; at < 400; at += at < 60 ? 1 : 13) {
        make_weights(ox_shunt_device(shunt), w);
        ox_error_clear();
        ox_trim(); /* or there is enough of what was freed */
        hook_allow(&memory, at);
        bool good = answer(w, got);
        hook_allow(&memory, INT64_MAX);
        errors += !good;
        CHECK_MSG(good ? memcmp(got, wanted, sizeof got) == 0 : ox_error() != OX_OK, "allocation %lld: %s",
                  (long long)at, ox_error_text());
        ox_error_clear();
        drop_weights(w);
    }
    make_weights(ox_shunt_device(shunt), w);
    CHECK_MSG(answer(w, got) && memcmp(got, wanted, sizeof got) == 0, "%s", ox_error_text());
    drop_weights(w);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    CHECK_MSG(errors > 5, "%d errors", errors);
    CHECK_MSG(ox_set_allocator(NULL) == OX_OK, "%s", ox_error_text());
    CHECK_MSG(hook_out(&memory) == 0, "%lld blocks left", (long long)hook_out(&memory));
}

/* Where a plan cannot be made, for one request for memory fails, a step runs call by call; with `raise` it is
 * an error that says so. */
static void test_raise(bool raise) {
    int told = 0, answers = 0;
    float wanted[SIDE], got[SIDE];
    ox_tensor *w[WEIGHTS];
    begin_memory(wanted);
    for (int64_t at = 0; at < 200; at++) {
        ox_shunt_desc desc = small_desc();
        desc.raise = raise;
        ox_shunt *shunt = ox_shunt_open(&desc);
        make_weights(ox_shunt_device(shunt), w);
        ox_error_clear();
        ox_trim();
        memory.fails = 2; /* a request is made a second time */
        hook_allow(&memory, at);
        bool good = answer(w, got);
        hook_allow(&memory, INT64_MAX);
        memory.fails = 0;
        bool plain = ox_shunt_get_stats(shunt).plans == 0;
        told += !good && strstr(ox_error_text(), "no plan of") != NULL;
        answers += good && plain;
        CHECK_MSG(good ? !ox_error() && memcmp(got, wanted, sizeof got) == 0 : ox_error() == OX_ERR_NOMEM,
                  "allocation %lld: %s", (long long)at, ox_error_text());
        ox_error_clear();
        drop_weights(w);
        CHECK(ox_shunt_close(shunt) == OX_OK);
    }
    CHECK_MSG(raise ? told > 3 && answers == 0 : told == 0 && answers > 3,
              "raise %d: %d told, %d without a plan", raise, told, answers);
    CHECK_MSG(ox_set_allocator(NULL) == OX_OK, "%s", ox_error_text());
}

/* A process that is killed while its steps run leaves no file, and the file of weights as it was. */
static void test_kill(void) {
    for (int i = 0; i < 5; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            ox_tensor *w[WEIGHTS];
            float got[SIDE];
            ox_shunt *shunt = open_small(false);
            make_weights(ox_shunt_device(shunt), w);
            for (;;)
                if (!answer(w, got)) _exit(1);
        }
        usleep((useconds_t)(20000 + 15000 * i));
        int status = 0;
        CHECK(child > 0 && kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        CHECK(files_in_folder() == 0);
    }
}

/* The spill folder has no room, or is not there. */
static void test_budgets(void) {
    ox_tensor *w[WEIGHTS] = {NULL};
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = 6 * SIDE * SIDE * 4 + 65536;
    desc.disk_bytes = 2 * SIDE * SIDE * 4;
    desc.spill = folder;
    ox_shunt *shunt = ox_shunt_open(&desc);
    make_weights(ox_shunt_device(shunt), w);
    CHECK_MSG(ox_error() == OX_ERR_NOMEM, "%s", ox_error_text());
    ox_error_clear();
    CHECK(ox_shunt_get_stats(shunt).disk_peak <= desc.disk_bytes);
    drop_weights(w);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    desc.disk_bytes = 0;
    desc.spill = "/no/such/folder";
    shunt = ox_shunt_open(&desc);
    make_weights(ox_shunt_device(shunt), w);
    CHECK_MSG(ox_error() == OX_ERR_IO && strstr(ox_error_text(), "/no/such/folder"), "%s", ox_error_text());
    ox_error_clear();
    drop_weights(w);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* ---- all of a tensor anew ------------------------------------------------------------------------------ */

enum { MANY = WIDE * WIDE };

/* What all numbers are; -1: they are not alike; -2: there is an error, which is cleared. */
static float number_of(ox_tensor *w) {
    static float got[MANY];
    if (ox_to_floats(w, got, MANY) != OX_OK) {
        CHECK(ox_error() != OX_OK);
        ox_error_clear();
        return -2;
    }
    for (int i = 1; i < MANY; i++)
        if (got[i] != got[0]) return -1;
    return got[0];
}

/* w becomes all `number`, from the host's memory. */
static bool becomes(ox_tensor *w, float number) {
    bool good = false;
    OX_SCOPE {
        ox_tensor *x = ox_full(OX_SHAPE(WIDE, WIDE), (double)number, OX_F32);
        good = x && ox_copy_async_(w, x) != NULL;
    }
    return good;
}

static ox_tensor *of_ones(const ox_shunt_desc *desc, ox_shunt **shunt) {
    ox_tensor *w = NULL;
    *shunt = ox_shunt_open(desc);
    OX_SCOPE {
        w = ox_retain(ox_to(ox_ones(OX_SHAPE(WIDE, WIDE), OX_F32), ox_shunt_device(*shunt)));
    }
    CHECK_MSG(w && number_of(w) == 1, "%s", ox_error_text());
    return w;
}

static ox_shunt_desc wide_desc(void) {
    ox_shunt_desc desc = small_desc();
    desc.device_bytes = 6 * MANY * 4 + 65536;
    return desc;
}

/* A disk that fails, with room beside the old numbers: they stay. Without: they are lost, which reads say
 * until all are written once more; where the disk works, they are the new ones. */
static void test_anew_on_disk(bool room) {
    ox_shunt *shunt;
    ox_shunt_desc desc = wide_desc();
    if (!room) desc.disk_bytes = (MANY * 4 + 4095) / 4096 * 4096;
    ox_tensor *w = of_ones(&desc, &shunt);
    CHECK_MSG(becomes(w, 2) && number_of(w) == 2, "%s", ox_error_text());
    for (int round = 0; round < 2; round++) {
        set_fault(&now, FAULT_ERROR, 1);
        CHECK(!becomes(w, 3) && ox_error() == OX_ERR_IO);
        set_fault(&now, 0, 0);
        ox_error_clear();
        float read = number_of(w);
        CHECK_MSG(read == (room ? 2 : -2), "room %d: %g", room, (double)read);
        CHECK_MSG(becomes(w, 2) && number_of(w) == 2, "%s", ox_error_text());
    }
    CHECK(room || ox_shunt_get_stats(shunt).disk_peak <= desc.disk_bytes);
    ox_release(w);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    CHECK(files_in_folder() == 0);
}

/* Every n-th request for memory fails: the old numbers or the new ones. */
static void test_anew_without_memory(bool host) {
    int errors = 0, answers = 0;
    float unused[SIDE];
    ox_shunt *shunt;
    ox_shunt_desc desc = wide_desc();
    begin_memory(unused);
    desc.host_bytes = host ? MANY * 4 : 0;
    ox_tensor *w = of_ones(&desc, &shunt);
    for (int64_t at = 0; at < 30; at++) {
        float before = number_of(w), wanted = before + 1;
        ox_trim();
        hook_allow(&memory, at);
        bool good = becomes(w, wanted);
        hook_allow(&memory, INT64_MAX);
        CHECK(good == (ox_error() == OX_OK));
        ox_error_clear();
        float read = number_of(w);
        CHECK_MSG(read == (good ? wanted : before), "host %d, allocation %lld: %g in place of %g", host,
                  (long long)at, (double)read, (double)(good ? wanted : before));
        errors += !good;
        answers += good;
    }
    CHECK_MSG(errors > 0 && answers > 3, "%d errors, %d answers", errors, answers);
    ox_release(w);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    CHECK_MSG(ox_set_allocator(NULL) == OX_OK, "%s", ox_error_text());
}

/* Numbers of a file's, without a folder for others: they are the file's. */
static void test_anew_of_file(void) {
    char path[500];
    const char *name = "w";
    ox_shunt_desc desc = wide_desc();
    desc.spill = "/no/such/folder";
    CHECK((size_t)snprintf(path, sizeof path, "%s.safetensors", folder) < sizeof path);
    OX_SCOPE {
        ox_tensor *ones = ox_ones(OX_SHAPE(WIDE, WIDE), OX_F32);
        CHECK(ox_save_safetensors(path, &name, &ones, 1, NULL, 0, 0) == OX_OK);
        ox_shunt *shunt = ox_shunt_open(&desc);
        ox_file *file = ox_file_open(path, ox_shunt_device(shunt));
        ox_tensor *w = ox_file_tensor(file, name);
        CHECK_MSG(w && !becomes(w, 2) && strstr(ox_error_text(), desc.spill), "%s", ox_error_text());
        ox_error_clear();
        float read = number_of(w);
        CHECK_MSG(read == 1, "%g", (double)read);
        ox_file_close(file);
        CHECK(ox_shunt_close(shunt) == OX_OK);
    }
    CHECK(remove(path) == 0);
}

/* All of one that is in parts, on a disk that fails before any of them: the old numbers, or the new ones. */
static void test_anew_in_parts(void) {
    enum { HALF = WIDE / 2 };
    int errors = 0;
    ox_shunt *shunt;
    ox_shunt_desc desc = wide_desc();
    desc.device_bytes = 65536; /* w is larger */
    ox_tensor *w = of_ones(&desc, &shunt);
    OX_SCOPE { /* some of it at once: it is cut */
        ox_tensor *some = ox_ones(OX_SHAPE(HALF, WIDE), OX_F32);
        CHECK_MSG(ox_copy_async_(ox_narrow(w, 0, 0, HALF), some) != NULL, "%s", ox_error_text());
    }
    for (int64_t every = 1; every < 24; every++) {
        float before = number_of(w), wanted = before + 1;
        set_fault(&now, FAULT_ERROR, every);
        bool good = becomes(w, wanted);
        set_fault(&now, 0, 0);
        CHECK(good == (ox_error() == OX_OK));
        ox_error_clear();
        float read = number_of(w);
        CHECK_MSG(read == (good ? wanted : before), "every %lld: %g in place of %g", (long long)every,
                  (double)read, (double)(good ? wanted : before));
        errors += !good;
    }
    CHECK_MSG(errors > 2, "%d errors", errors);
    ox_release(w);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    CHECK(files_in_folder() == 0);
}

int main(void) {
    const char *test = getenv("OX_TEST_TMP");
    snprintf(folder, sizeof folder, "%s/shunt-faults-%d",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm"
             : test                        ? test
                                           : ".",
             (int)getpid());
    CHECK(mkdir(folder, 0700) == 0);
    test_kill(); /* before there are threads */
    test_every(false);
    test_every(true);
    test_ahead();
    test_file();
    test_memory();
    test_raise(false);
    test_raise(true);
    test_budgets();
    for (int way = 0; way < 2; way++) {
        test_anew_on_disk(way == 0);
        test_anew_without_memory(way == 0);
    }
    test_anew_of_file();
    test_anew_in_parts();
    CHECK(rmdir(folder) == 0);
    CHECK_MSG(ox_memory_get_stats().tensors == 0, "%lld tensors left",
              (long long)ox_memory_get_stats().tensors);
    return check_done("shunt_faults");
}
