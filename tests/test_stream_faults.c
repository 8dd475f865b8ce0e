/* test_stream_faults.c - reads and writes that fail, end early or are interrupted at every n-th transfer,
 * files that become shorter, disks without room: the right answer or an error, never anything else, never a
 * hang. The stream works afterwards. OX_TSAN */
#include "disk_faults.h"
#include "hook_alloc.h"
#include "stream_works.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static ox_stream *open_faulty(const stream_case *c, fault *f) {
    ox_stream_desc desc = case_desc(c);
    desc.fault = fault_at;
    desc.fault_user = f;
    ox_stream *stream = ox_stream_open(&desc);
    CHECK_MSG(stream != NULL, "%s", ox_error_text());
    return stream;
}

/* A few operations over files and the spill file: NULL, or a result in RAM. */
static ox_tensor *work(ox_stream *stream, const char *path, ox_tensor *x) {
    ox_device *device = ox_stream_device(stream);
    ox_tensor *a = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(120, 500));
    ox_tensor *b = ox_to(ox_mul_number(a, 3), device);
    b = ox_add_(b, a);
    ox_tensor *c = ox_linear(x, b, NULL);
    ox_tensor *d = ox_sum(ox_exp(ox_neg(b)), OX_DIMS(1), false);
    ox_tensor *e = ox_embedding(ox_arange(0, 5, 1, OX_I64), a);
    ox_tensor *parts[2] = {ox_add(c, d), ox_sum(e, OX_DIMS(0), false)};
    return ox_to(ox_cat(parts, 2, 0), ox_cpu());
}

/* Whether `got` of a run with faults is what it may be: the right bits, or an error where a fault is one. */
static bool is_answer(ox_tensor *got, ox_tensor *right, int kind, int64_t every) {
    return got ? same_bits(got, right) : ox_error() != OX_OK && !is_harmless(kind, every);
}

/* Transfers that end early, again and again: pages that the page cache holds while others of the same file
 * are written past it must not be taken for what is on the disk. */
static void check_short_transfers(ox_stream *stream, fault *f, const char *path, ox_tensor *y,
                                  ox_tensor *right) {
    enum { TIMES = 100 };
    set_fault(f, FAULT_SHORT, 3);
    for (int i = 0; i < TIMES; i++)
        OX_SCOPE {
            ox_tensor *got = work(stream, path, y);
            CHECK_MSG(same_bits(got, right), "time %d: %s: %s", i, got ? "other bits" : "no result",
                      ox_error_text());
            ox_error_clear();
        }
    set_fault(f, 0, 0);
}

static void test_every(const stream_case *c) {
    char path[320];
    snprintf(path, sizeof path, "%s/oxtorch-faults-%p.raw", c->folder, (void *)path);
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(120, 500), OX_F32, 1), *y = numbers(OX_SHAPE(500), OX_F32, 2);
        put_raw(path, x, 0);
        fault f = 0;
        ox_stream *stream = open_faulty(c, &f);
        ox_tensor *right = work(stream, path, y);
        CHECK_MSG(right != NULL, "%s", ox_error_text());
        int right_answers = 0, errors = 0;
        for (int kind = 0; kind < FAULT_KINDS; kind++)
            for (int64_t every = 1; every < 120; every += every < 12 ? 1 : 9)
                OX_SCOPE {
                    set_fault(&f, kind, every);
                    ox_tensor *got = work(stream, path, y);
                    set_fault(&f, 0, 0);
                    CHECK_MSG(is_answer(got, right, kind, every), "kind %d every %lld: %s", kind,
                              (long long)every, ox_error_text());
                    if (got)
                        right_answers++;
                    else
                        errors++;
                    ox_error_clear();
                    if (every < 4) /* what was read ahead in vain is nobody's error */
                        CHECK_MSG(same_bits(work(stream, path, y), right), "after kind %d every %lld: %s",
                                  kind, (long long)every, ox_error_text());
                    ox_error_clear();
                }
        CHECK(right_answers > 0 && errors > 0);
        check_short_transfers(stream, &f, path, y, right);
        ox_tensor *after = work(stream, path, y);
        CHECK(after && same_bits(after, right));
        ox_device_close(ox_stream_device(stream));
    }
    remove(path);
}

/* One piece of work with faults at every n-th transfer, of a kind each: `first` for the first n, the next for
 * the next, so that a few sizes in turn meet each kind at each n. */
static void try_faults(ox_stream *stream, fault *f, int w, int first, ox_tensor *const *far,
                       ox_tensor *right) {
    static const int64_t turns[] = {1, 2, 3, 5, 16};
    for (int t = 0; t < (int)(sizeof turns / sizeof *turns); t++)
        OX_SCOPE {
            int kind = (first + t) % FAULT_KINDS;
            set_fault(f, kind, turns[t]);
            ox_tensor *got = works[w].run(far);
            got = got ? ox_to(got, ox_cpu()) : NULL;
            set_fault(f, 0, 0);
            CHECK_MSG(is_answer(got, right, kind, turns[t]), "%s of %lld numbers, kind %d every %lld: %s",
                      works[w].name, (long long)ox_numel(far[0]), kind, (long long)turns[t], ox_error_text());
            ox_error_clear();
            if (is_harmless(kind, turns[t])) continue;
            CHECK_MSG(same_bits(works[w].run(far), right), "%s after kind %d every %lld: %s", works[w].name,
                      kind, (long long)turns[t], ox_error_text()); /* what it read ahead is nobody's error */
            ox_error_clear();
        }
    CHECK(ox_stream_get_stats(stream).tiles > 0);
}

#ifdef __SANITIZE_THREAD__
enum { WORK_STEP = 5 }; /* the sanitizer takes its time */
#else
enum { WORK_STEP = 1 };
#endif

/* Every family of operations at sizes around pages, tiles and the budget: half of these, the other half in
 * the next case. */
static void test_sizes(const stream_case *small, int number) {
    const stream_case c = case_sized(small, WORK_BUDGET, TILE);
    char path[2][320];
    fault f = 0;
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s/oxtorch-sizes-%p-%d.raw", c.folder, (void *)path, i);
    for (int i = 0; i < WORK_SIZES; i++)
        OX_SCOPE {
            ox_shape shape = OX_SHAPE(work_sizes[i]);
            ox_tensor *near[2], *far[2];
            ox_stream *stream = open_faulty(&c, &f);
            for (int k = 0; k < 2; k++) {
                near[k] = numbers(shape, OX_F32, (uint64_t)k);
                put_raw(path[k], near[k], 0);
                far[k] = ox_stream_raw(stream, path[k], 0, OX_F32, shape);
            }
            for (int w = (i + number) % 2; w < WORKS; w += 2 * WORK_STEP)
                OX_SCOPE {
                    try_faults(stream, &f, w, w + i, far, works[w].run(near));
                }
            ox_device_close(ox_stream_device(stream));
        }
    for (int i = 0; i < 2; i++) remove(path[i]);
}

/* A file that is cut in the middle of a pass: the operation fails, what lies before the cut stays right. */
typedef struct cut {
    char path[320];
    int64_t at, bytes; /* transfer number, and what remains */
} cut;

static int64_t cut_at(void *user, int64_t number, int64_t bytes) {
    const cut *c = (const cut *)user;
    if (number == c->at) CHECK(truncate(c->path, c->bytes) == 0);
    return bytes;
}

static void test_cut_file(const stream_case *c) {
    enum { N = 400000 };
    for (int64_t at = 1; at < 90; at += 22)
        OX_SCOPE {
            cut one;
            one.at = at;
            one.bytes = 600;
            snprintf(one.path, sizeof one.path, "%s/oxtorch-cut-%p.raw", c->folder, (void *)&one);
            ox_tensor *x = numbers(OX_SHAPE(N), OX_F32, 1);
            put_raw(one.path, x, 0);
            ox_stream_desc desc = case_desc(c);
            desc.fault = cut_at;
            desc.fault_user = &one;
            desc.forgetful = true;
            ox_stream *stream = ox_stream_open(&desc);
            ox_tensor *far = ox_stream_raw(stream, one.path, 0, OX_F32, OX_SHAPE(N));
            CHECK(!ox_neg(far) && ox_error() == OX_ERR_IO && strstr(ox_error_text(), "shorter"));
            ox_error_clear();
            CHECK(same_bits(ox_neg(ox_narrow(far, 0, 0, 150)), ox_neg(ox_narrow(x, 0, 0, 150))));
            ox_device_close(ox_stream_device(stream));
            remove(one.path);
        }
}

/* ---- several streams, closing and killing in the middle ------------------------------------------------ */

typedef struct worker {
    const stream_case *c;
    const char *path;
    ox_stream *stream;
    ox_tensor *far, *right;
    int done;
} worker;

static void *work_on(void *arg) {
    worker *w = (worker *)arg;
    for (int i = 0; i < 10; i++)
        OX_SCOPE {
            w->done += same_bits(ox_neg(w->far), w->right);
        }
    return NULL;
}

/* Three streams over one file at once; each is closed while its operations run, and lives as long as they. */
static void test_three_streams(const stream_case *c) {
    char path[320];
    snprintf(path, sizeof path, "%s/oxtorch-three-%p.raw", c->folder, (void *)path);
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(60000), OX_F32, 1), *right = ox_neg(x);
        put_raw(path, x, 0);
        worker workers[3];
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) {
            ox_stream *stream = case_open(c);
            worker one = {c, path, stream, ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(60000)), right, 0};
            workers[i] = one;
        }
        for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, work_on, &workers[i]) == 0);
        for (int i = 0; i < 3; i++) ox_device_close(ox_stream_device(workers[i].stream));
        for (int i = 0; i < 3; i++) {
            pthread_join(threads[i], NULL);
            CHECK(workers[i].done == 10);
        }
    }
    remove(path);
}

/* Files in a folder other than "kept.safetensors". */
static int files_in(const char *folder) {
    int count = 0;
    DIR *all = opendir(folder);
    for (struct dirent *one; all && (one = readdir(all));)
        count += one->d_name[0] != '.' && strcmp(one->d_name, "kept.safetensors") != 0;
    if (all) closedir(all);
    return count;
}

/* Starts spill_for_ever in a process, kills it after `moment` milliseconds, with `kept` not before that file
 * is there (a minute at most), and waits until it is gone. False if it ended by itself. */
static bool kill_after(const char *program, const char *path, const char *folder, int reading, int moment,
                       const char *kept) {
    char number[16];
    snprintf(number, sizeof number, "%d", reading);
    const pid_t child = fork();
    if (child == 0) {
        execl(program, program, "--spill", path, folder, number, (char *)NULL);
        _exit(1);
    }
    if (child < 0) return false;
    usleep((unsigned)moment * 1000);
    for (int i = 0; kept && i < 6000 && access(kept, F_OK) != 0; i++) usleep(10000);
    int status = 0;
    const bool killed = kill(child, SIGKILL) == 0;
    return waitpid(child, &status, 0) == child && killed && WIFSIGNALED(status);
}

/* A process that is killed, at any moment, while it computes into its spill file and a named one leaves only
 * that, and its input as it was. The last one has come as far as the named one, however slow this machine. */
static void test_kill(const char *program, const stream_case *c) {
    enum { KILLS = 12 };
    char path[400], folder[320], kept[400];
    snprintf(folder, sizeof folder, "%s/oxtorch-kill-%p", c->folder, (void *)folder);
    snprintf(path, sizeof path, "%s.raw", folder);
    snprintf(kept, sizeof kept, "%s/kept.safetensors", folder);
    CHECK(mkdir(folder, 0700) == 0);
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(300000), OX_F32, 1);
        put_raw(path, x, 0);
        for (int i = 0; i < KILLS; i++) {
            const int moment = (int)ox_item_int(ox_randint(5, 400, OX_SHAPE(1), OX_I64));
            const bool last = i == KILLS - 1;
            CHECK_MSG(kill_after(program, path, folder, (int)c->reading, moment, last ? kept : NULL),
                      "killed after %d ms: it ended by itself", moment);
            CHECK_MSG(files_in(folder) == 0, "killed after %d ms: %d files left", moment, files_in(folder));
            CHECK(remove(kept) == 0 || !last);
        }
        ox_stream *stream = case_open(c);
        ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(300000));
        CHECK(same_bits(far, x));
        ox_device_close(ox_stream_device(stream));
    }
    remove(path);
    CHECK(rmdir(folder) == 0);
}

/* What test_kill runs: relu into the spill file and from there to the named one, again and again. */
static int spill_for_ever(const char *path, const char *folder, int reading) {
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.ram_bytes = 4 << 20;
    desc.result_bytes = 1;
    desc.spill = folder;
    desc.reading = (ox_stream_reading)reading;
    ox_stream *stream = ox_stream_open(&desc);
    ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(300000)), *y = ox_relu(far);
    ox_tensor *kept = ox_stream_named(stream, "kept", OX_F32, OX_SHAPE(300000));
    while (y && ox_copy_(kept, y)) {
        ox_release(y);
        y = ox_relu(far);
    }
    return 0;
}

/* An error says where. A file that became shorter, or went, is one; what was read before stays right. */
static void test_short_file(const stream_case *c) {
    char path[320];
    snprintf(path, sizeof path, "%s/oxtorch-shorter-%p.raw", c->folder, (void *)path);
    ox_stream *stream = case_open(c);
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(50000), OX_F32, 1);
        put_raw(path, x, 0);
        ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(50000));
        ox_tensor *head = ox_narrow(far, 0, 0, 10000);
        put_raw(path, ox_narrow(x, 0, 0, 20000), 0); /* the same file, cut and written anew */
        CHECK(same_bits(ox_neg(head), ox_neg(ox_narrow(x, 0, 0, 10000))));
        CHECK(!ox_neg(far) && ox_error() == OX_ERR_IO);
        CHECK_MSG(strstr(ox_error_text(), "shorter") && strstr(ox_error_text(), "offset 80000"), "%s",
                  ox_error_text());
        ox_error_clear();
        CHECK(!ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(20001)) && ox_error() == OX_ERR_IO);
        ox_error_clear();
        CHECK(!ox_stream_raw(stream, path, 4 * 20000 - 3, OX_F32, OX_SHAPE(1)) && ox_error() == OX_ERR_IO);
        ox_error_clear();
        remove(path);
        CHECK(!ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(1)) && ox_error() == OX_ERR_IO);
        ox_error_clear();
        CHECK(same_bits(ox_neg(head), ox_neg(ox_narrow(x, 0, 0, 10000))));
    }
    ox_device_close(ox_stream_device(stream));
}

/* Closing with reads ahead in flight, tensors that outlive their stream, descriptions that cannot be. */
static void test_open_and_close(const stream_case *c) {
    char path[320];
    snprintf(path, sizeof path, "%s/oxtorch-close-%p.raw", c->folder, (void *)path);
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(100000), OX_F32, 1);
        put_raw(path, x, 0);
        for (int i = 0; i < 20; i++) {
            ox_stream *stream = case_open(c);
            ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(100000));
            ox_tensor *part = ox_narrow(far, 0, 0, 100 + 4000 * i);
            if (i % 2)
                (void)ox_relu(part), (void)ox_relu(part); /* the second one's end is followed by a guess */
            ox_device_close(ox_stream_device(stream));
            CHECK(same_bits(ox_relu(part), ox_relu(ox_narrow(x, 0, 0, 100 + 4000 * i))));
        }
    }
    ox_stream_desc desc = case_desc(c);
    desc.tile_bytes = BUDGET;
    CHECK(!ox_stream_open(&desc) && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    CHECK(!ox_stream_device(NULL) && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    CHECK(!ox_stream_raw(NULL, path, 0, OX_F32, OX_SHAPE(1)));
    ox_error_clear();
    CHECK(ox_device_close(ox_stream_device(NULL)) == OX_ERR_ARG);
    ox_error_clear();
    desc = case_desc(c);
    desc.spill = "/nowhere/at/all";
    ox_stream *stream = ox_stream_open(&desc);
    OX_SCOPE {
        CHECK(!ox_to(numbers(OX_SHAPE(100), OX_F32, 1), ox_stream_device(stream)) && ox_error() == OX_ERR_IO);
        ox_error_clear();
        ox_tensor *big = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(100000));
        bool spills = ox_nbytes(big) > (c->result_bytes ? c->result_bytes : BUDGET / 8);
        CHECK(spills ? !ox_relu(big) && ox_error() == OX_ERR_IO : ox_relu(big) != NULL);
        ox_error_clear();
        CHECK_MSG(ox_relu(ox_narrow(big, 0, 0, 1)) || c->result_bytes == 1, "%s", ox_error_text());
        ox_error_clear();
    }
    ox_device_close(ox_stream_device(stream));
    remove(path);
}

/* ---- memory that runs out ----------------------------------------------------------------------------- */

/* From the n-th request on there is no memory, for every n until the work is done: an error and no leak. */
static void test_scarce_memory(const stream_case *c) {
    char path[320];
    snprintf(path, sizeof path, "%s/oxtorch-scarce-%p.raw", c->folder, (void *)path);
    OX_SCOPE {
        put_raw(path, numbers(OX_SHAPE(120, 500), OX_F32, 1), 0);
    }
    hook h = {0, 0, 0, 0, 0, 0};
    ox_allocator scarce = {hook_alloc, hook_free, &h};
    bool done = false;
    for (int64_t n = 0; n < 400 && !done; n++) {
        hook_allow(&h, INT64_MAX);
        CHECK(ox_set_allocator(&scarce) == OX_OK);
        hook_allow(&h, n);
        ox_stream_desc desc = case_desc(c);
        ox_stream *stream = ox_stream_open(&desc);
        OX_SCOPE {
            done = stream && work(stream, path, numbers(OX_SHAPE(500), OX_F32, 2));
            CHECK_MSG(done || ox_error() == OX_ERR_NOMEM, "request %lld: %s", (long long)n, ox_error_text());
        }
        ox_device_close(ox_stream_device(stream));
        ox_error_clear();
        CHECK(ox_set_allocator(NULL) == OX_OK);
        CHECK_MSG(hook_out(&h) == 0, "request %lld: %lld blocks leak", (long long)n, (long long)hook_out(&h));
    }
    CHECK(done);
    remove(path);
}

int main(int count, char **words) {
    if (count == 5 && strcmp(words[1], "--spill") == 0)
        return spill_for_ever(words[2], words[3], atoi(words[4]));
    check_cases();
    for (int i = 0; i < case_count(); i++) {
        stream_case c = case_at(i);
        if (!c.folder) continue;
        test_every(&c);
        if (i < 2 || i > 3) test_sizes(&c, i); /* a disk and memory, io_uring and threads */
        test_short_file(&c);
        test_cut_file(&c);
        test_three_streams(&c);
        test_kill(words[0], &c);
        test_open_and_close(&c);
        if (i < 2) test_scarce_memory(&c);
    }
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("stream_faults");
}
