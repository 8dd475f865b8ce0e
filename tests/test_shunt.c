/* test_shunt.c - the planning device: what is kept and when it runs, deaths, views, changes in place, errors
 * with the call's number and name, files, captures, training; all with the bits of eager runs, without a
 * budget and within small ones. OX_TSAN */
#define _GNU_SOURCE 1
#include "oxtorch_nn.h"
#include "shunt_check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct shunt_case {
    const char *name;
    uint64_t device_bytes, host_bytes;
    bool eager;
} shunt_case;

static const shunt_case cases[] = {{"no budget", 0, 0, false},
                                   {"device and host", 512 << 10, 256 << 10, false},
                                   {"device and disk", 512 << 10, 0, false},
                                   {"eager", 512 << 10, 0, true}};
enum { CASES = sizeof cases / sizeof *cases };

static ox_shunt *open_case(const shunt_case *c) {
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = c->device_bytes;
    desc.host_bytes = c->host_bytes;
    desc.eager = c->eager;
    desc.spill = folder();
    ox_shunt *shunt = ox_shunt_open(&desc);
    CHECK_MSG(shunt != NULL, "%s", ox_error_text());
    return shunt;
}

/* ---- keeping and running ------------------------------------------------------------------------------- */

static void test_lazy(const shunt_case *c) {
    ox_shunt *shunt = open_case(c);
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(40, 50), OX_F32), *far = ox_to(x, ox_shunt_device(shunt));
        int64_t steps = ox_shunt_get_stats(shunt).steps;
        ox_tensor *y = ox_exp(ox_mul_number(far, 0.5)), *z = ox_sum(y, OX_DIMS(1), false);
        CHECK(ox_shunt_get_stats(shunt).steps == steps + (c->eager ? 3 : 0));
        CHECK(ox_device_of(z) == ox_shunt_device(shunt) && ox_data(z) == NULL);
        CHECK(same_bits(z, ox_sum(ox_exp(ox_mul_number(x, 0.5)), OX_DIMS(1), false)));
        CHECK(ox_shunt_get_stats(shunt).steps == steps + (c->eager ? 3 : 1));
        CHECK(same_bits(y, ox_exp(ox_mul_number(x, 0.5)))); /* it ran with the others */
        CHECK(ox_shunt_get_stats(shunt).steps == steps + (c->eager ? 3 : 1));
        CHECK(ox_device_sync(ox_shunt_device(shunt)) == OX_OK);
    }
    CHECK(ox_shunt_get_stats(shunt).device_bytes == 0);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* Views and changes in place before, between and after what reads them. */
static ox_tensor *change(ox_tensor *x, ox_tensor *w) {
    ox_tensor *y = ox_add(x, w), *row = ox_select(y, 0, 3), *column = ox_select(y, 1, 2);
    ox_tensor *before = ox_clone(row);
    ox_mul_number_(ox_t(y), 3);
    ox_copy_(column, ox_ones_like(column));
    ox_add_(y, ox_expand(ox_unsqueeze(before, 0), ox_shape_of(y)));
    ox_fill_(ox_narrow(y, 1, 1, 1), 7);
    ox_tensor *s = ox_cumsum(ox_flip(y, OX_DIMS(0)), 0);
    ox_add_(w, ox_mul_number(s, 0.25));
    ox_tensor *parts[3] = {y, s, w};
    return ox_cat(parts, 3, 1);
}

static void test_changes(const shunt_case *c) {
    ox_shunt *shunt = open_case(c);
    OX_SCOPE {
        ox_device *device = ox_shunt_device(shunt);
        ox_tensor *x = ox_randn(OX_SHAPE(60, 70), OX_F32), *w = ox_randn(OX_SHAPE(60, 70), OX_F32);
        ox_tensor *far_x = ox_to(x, device), *far_w = ox_to(w, device);
        for (int i = 0; i < 4; i++)
            OX_SCOPE {
                ox_tensor *wanted = change(x, w), *got = change(far_x, far_w);
                CHECK_MSG(same_bits(wanted, got) && same_bits(w, far_w), "%s: %s", c->name, ox_error_text());
            }
    }
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* What a step gives up goes when its last reader is over: so much of it as lives at once is enough. */
static void test_deaths(void) {
    float one;
    ox_shunt *shunt = open_case(&cases[0]);
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(1 << 16), OX_F32), ox_shunt_device(shunt));
        for (int i = 0; i < 100; i++) {
            ox_tensor *y = ox_mul_number(x, 1.5);
            ox_release(x);
            x = y;
        }
        CHECK(ox_to_floats(ox_narrow(x, 0, 0, 1), &one, 1) == OX_OK);
        const ox_shunt_stats s = ox_shunt_get_stats(shunt);
        CHECK_MSG(s.device_peak <= 3u << 18, "%llu bytes", (unsigned long long)s.device_peak);
    }
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* Random operations have the numbers of the call, whenever they run. */
static void test_random(const shunt_case *c) {
    ox_shunt *shunt = open_case(c);
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(30, 40), OX_F32), *far = ox_to(x, ox_shunt_device(shunt));
        ox_manual_seed(5);
        ox_tensor *a = ox_dropout(x, 0.5, true), *b = ox_dropout(x, 0.5, true);
        ox_manual_seed(5);
        ox_tensor *p = ox_dropout(far, 0.5, true), *q = ox_dropout(far, 0.5, true);
        ox_manual_seed(9);
        CHECK(same_bits(q, b) && same_bits(p, a));
    }
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* ---- errors -------------------------------------------------------------------------------------------- */

static void test_errors(const shunt_case *c) {
    ox_shunt *shunt = open_case(c);
    OX_SCOPE {
        ox_device *device = ox_shunt_device(shunt);
        const int64_t wrong[3] = {1, 99, 2};
        ox_tensor *table = ox_to(ox_randn(OX_SHAPE(9, 16), OX_F32), device), *near = ox_to(table, ox_cpu());
        ox_tensor *ids = ox_to(ox_from_data(wrong, OX_SHAPE(3), OX_I64), device);
        CHECK(!ox_matmul(table, table) && strstr(ox_error_text(), "matmul: inner sizes differ"));
        ox_error_clear();
        ox_tensor *good = ox_mul_number(table, 2), *bad = ox_embedding(ids, table);
        ox_tensor *after = bad ? ox_add_number(bad, 1) : NULL;
        ox_tensor *changed = after ? ox_add_(table, ox_select(after, 0, 0)) : NULL;
        if (!c->eager) {
            CHECK(bad && changed && ox_error() == OX_OK);
            CHECK(ox_device_sync(device) != OX_OK);
            CHECK_MSG(strstr(ox_error_text(), "call 1 (embedding)") && strstr(ox_error_text(), "99"), "%s",
                      ox_error_text());
            ox_error_clear();
            CHECK(ox_item(ox_select(ox_select(bad, 0, 0), 0, 0)) == 0 && ox_error() != OX_OK);
            CHECK_MSG(strstr(ox_error_text(), "lost"), "what the call itself was to make: %s",
                      ox_error_text());
            ox_error_clear();
            CHECK(ox_item(ox_select(ox_select(after, 0, 0), 0, 0)) == 0 && ox_error() != OX_OK);
            ox_error_clear();
            CHECK(ox_isnan(after) != NULL && ox_device_sync(device) != OX_OK);
            CHECK_MSG(strstr(ox_error_text(), "lost"), "%s", ox_error_text());
        } else {
            CHECK(!bad && strstr(ox_error_text(), "embedding"));
        }
        ox_error_clear();
        CHECK(same_bits(good, ox_mul_number(near, 2)) && same_bits(table, near)); /* nothing else is lost */
    }
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* Members with values that none has. */
static void test_choices(void) {
    ox_shunt_desc wrong[7];
    memset(wrong, 0, sizeof wrong);
    wrong[0].recompute = (ox_recompute)17;
    wrong[1].compression = (ox_compression)17;
    wrong[2].compression = OX_COMPRESSION_I8; /* of nothing */
    wrong[3].compress = 64;
    wrong[4].search_seconds = -1;
    wrong[5].search_seconds = (double)NAN;
    wrong[6].search_seconds = (double)INFINITY;
    for (int i = 0; i < 7; i++) {
        CHECK_MSG(!ox_shunt_open(&wrong[i]) && ox_error() == OX_ERR_ARG, "%d", i);
        ox_error_clear();
    }
}

/* Calls of the time after its end that nobody asks for go with the last tensor, and so does the shunt. */
static void test_abandoned(const shunt_case *c) {
    ox_shunt *shunt = open_case(c);
    int64_t before = ox_memory_get_stats().storages;
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(40, 40), OX_F32), ox_shunt_device(shunt));
        CHECK(ox_item(ox_sum(x, OX_ALL_DIMS, false)) == 1600);
        CHECK(ox_shunt_close(shunt) == OX_OK);
        ox_tensor *y = ox_mul(x, x);
        CHECK(ox_item(ox_sum(y, OX_ALL_DIMS, false)) == 1600);
        CHECK(ox_add(y, x) && ox_mul_number_(x, 2)); /* never read */
    }
    CHECK_MSG(ox_memory_get_stats().storages == before, "%s: %lld storages left", c->name,
              (long long)(ox_memory_get_stats().storages - before));
}

/* Threads that train on one shunt, each with weights of its own; gradients are recorded in all of them. */
typedef struct trainer {
    ox_device *device;
    int side;
    double sum;
} trainer;

static void *trainer_main(void *argument) {
    trainer *t = (trainer *)argument;
    OX_SCOPE {
        ox_tensor *w = ox_to(ox_full(OX_SHAPE(t->side, t->side), 0.02, OX_F32), t->device);
        w = ox_requires_grad_(w, true);
        for (int i = 0; i < 4; i++)
            OX_SCOPE {
                ox_tensor *loss = ox_mean(ox_tanh(ox_matmul(w, w)), OX_ALL_DIMS, false);
                ox_tensor *g = ox_backward(loss, NULL) == OX_OK ? ox_gradient(w) : NULL;
                OX_NO_GRAD {
                    if (g) ox_add_scaled_(w, g, -1);
                }
                ox_set_gradient(w, NULL);
                t->sum += g ? ox_item(loss) : (double)NAN;
            }
    }
    return NULL;
}

static void test_trainers(const shunt_case *c) {
    enum { TRAINERS = 3 };
    ox_shunt *shunt = open_case(c);
    trainer near[TRAINERS], far[TRAINERS];
    pthread_t thread[TRAINERS];
    for (int i = 0; i < TRAINERS; i++) {
        near[i].device = ox_cpu();
        far[i].device = ox_shunt_device(shunt);
        near[i].side = far[i].side = 40 + i;
        near[i].sum = far[i].sum = 0;
        CHECK(pthread_create(&thread[i], NULL, trainer_main, &far[i]) == 0);
    }
    for (int i = 0; i < TRAINERS; i++) {
        pthread_join(thread[i], NULL);
        trainer_main(&near[i]);
        CHECK_MSG(near[i].sum == far[i].sum, "%s, thread %d: %.9g, not %.9g", c->name, i, far[i].sum,
                  near[i].sum);
    }
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* A capture that is open in one thread while another closes the shunt: calls go on as they were. */
typedef struct captured {
    ox_shunt *shunt;
    int begun, closed; /* of that thread, of the other one */
    bool good;
} captured;

static void *capture_main(void *argument) {
    captured *c = (captured *)argument;
    c->good = ox_capture_begin(c->shunt) == OX_OK && ox_capture_begin(c->shunt) == OX_OK;
    OX_SCOPE {
        ox_tensor *x = ox_add_number(ox_ones(OX_SHAPE(100, 100), OX_F32), 1);
        __atomic_store_n(&c->begun, 1, __ATOMIC_RELEASE);
        for (int i = 0; i < 1000 && !__atomic_load_n(&c->closed, __ATOMIC_ACQUIRE); i++)
            c->good = ox_item(ox_sum(ox_mul(x, x), OX_ALL_DIMS, false)) == 40000 && c->good;
        while (!__atomic_load_n(&c->closed, __ATOMIC_ACQUIRE)) {}
        ox_tensor *y = ox_mul(ox_ones(OX_SHAPE(100, 100), OX_F32), x);
        c->good = y && ox_item(ox_sum(y, OX_ALL_DIMS, false)) == 20000 && c->good;
    }
    for (int i = 0; i < 3; i++) /* nobody else keeps it now */
        OX_SCOPE {
            ox_tensor *z = ox_full(OX_SHAPE(300), i, OX_F32);
            c->good = z && ox_item(ox_sum(z, OX_ALL_DIMS, false)) == 300 * i && c->good;
        }
    c->good = ox_capture_end(c->shunt) == OX_OK && c->good;
    return NULL;
}

static void test_closed_elsewhere(const shunt_case *k) {
    for (int i = 0; i < 8; i++) {
        captured c = {open_case(k), 0, 0, false};
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, capture_main, &c) == 0);
        while (!__atomic_load_n(&c.begun, __ATOMIC_ACQUIRE)) {}
        CHECK(ox_shunt_close(c.shunt) == OX_OK);
        __atomic_store_n(&c.closed, 1, __ATOMIC_RELEASE);
        pthread_join(thread, NULL);
        CHECK_MSG(c.good, "%s, turn %d: %s", k->name, i, ox_error_text());
    }
}

static void test_refused(void) {
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = 100;
    CHECK(!ox_shunt_open(&desc) && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    ox_shunt *shunt = open_case(&cases[1]);
    desc.device_bytes = 0;
    desc.compute = ox_shunt_device(shunt);
    CHECK(!ox_shunt_open(&desc) && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    OX_SCOPE {
        OX_DEVICE_SCOPE(ox_shunt_device(shunt)) {
            ox_tensor *a = ox_zeros(OX_SHAPE(70000), OX_F32), *b = ox_ones(OX_SHAPE(70000), OX_F32);
            ox_tensor *sum =
                ox_cumsum(ox_randn(OX_SHAPE(70000), OX_F32), 0); /* each fits, not both: 560 KB */
            CHECK(ox_device_sync(ox_shunt_device(shunt)) == OX_ERR_NOMEM);
            CHECK_MSG(strstr(ox_error_text(), "call 3 (cumsum)"), "%s", ox_error_text());
            ox_error_clear();
            ox_tensor *large = ox_zeros(OX_SHAPE(1 << 20), OX_F32); /* 4 MiB of 512 KiB, in parts */
            CHECK(large && ox_device_sync(ox_shunt_device(shunt)) == OX_OK);
            CHECK(sum && a);
            CHECK(ox_item(ox_narrow(b, 0, 5, 1)) == 1);
        }
    }
    OX_SCOPE { /* two of 600,000 bytes, in parts, that a call wants whole: all that it wants is named */
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(150000), OX_F32), ox_shunt_device(shunt));
        CHECK(ox_device_sync(ox_shunt_device(shunt)) == OX_OK && ox_item(ox_sum(x, OX_ALL_DIMS, false)) > 0);
        x = ox_cumsum(ox_add(x, x), 0);
        CHECK(ox_device_sync(ox_shunt_device(shunt)) == OX_ERR_NOMEM);
        CHECK_MSG(x && strstr(ox_error_text(), "1204224 bytes needed at once"), "%s", ox_error_text());
        ox_error_clear();
    }
    CHECK(ox_device_set_budget(ox_shunt_device(shunt), 5) == OX_ERR_UNSUPPORTED);
    ox_error_clear();
    CHECK(ox_shunt_close(shunt) == OX_OK);
    CHECK(ox_capture_begin(NULL) == OX_ERR_ARG);
    ox_error_clear();
    CHECK(ox_shunt_close(NULL) == OX_OK);
}

/* Weights in the form that products want, there or on the CPU before they come: the bits are those of weights
 * that are not, also after a change in place. */
static void test_prepack(const shunt_case *c) {
    enum { SIDE = 256 };
    ox_shunt *shunt = open_case(c);
    OX_SCOPE {
        ox_device *device = ox_shunt_device(shunt);
        ox_tensor *x = ox_randn(OX_SHAPE(7, SIDE), OX_F32), *far_x = ox_to(x, device);
        ox_tensor *w = ox_randn(OX_SHAPE(SIDE, SIDE), OX_F32), *far = ox_to(w, device), *own = ox_clone(w);
        ox_tensor *blocks = ox_cast(w, OX_Q4_0), *packed = ox_clone(blocks);
        CHECK(ox_prepack(far) == OX_OK && ox_prepack(own) == OX_OK && ox_prepack(packed) == OX_OK);
        ox_tensor *far_packed = ox_to(packed, device);
        for (int i = 0; i < 4; i++) {
            ox_tensor *wanted = ox_linear(x, w, NULL);
            CHECK_MSG(same_bits(ox_linear(far_x, far, NULL), wanted), "%s: %s", c->name, ox_error_text());
            CHECK(ox_capture_begin(shunt) == OX_OK);
            ox_tensor *captured = ox_linear(x, own, NULL);
            CHECK(ox_capture_end(shunt) == OX_OK && same_bits(captured, wanted));
            CHECK_MSG(same_bits(ox_linear(far_x, far_packed, NULL), ox_linear(x, blocks, NULL)), "%s: %s",
                      c->name, ox_error_text());
            CHECK(ox_add_number_(w, 1) && ox_add_number_(far, 1) && ox_add_number_(own, 1));
            if (i == 1) CHECK(ox_prepack(far) == OX_OK && ox_prepack(own) == OX_OK);
        }
        CHECK(same_bits(far, w) && same_bits(far_packed, blocks));
    }
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void test_files(const shunt_case *c) {
    char path[300];
    snprintf(path, sizeof path, "%s/oxtorch-shunt-%p.safetensors", folder(), (void *)path);
    OX_SCOPE {
        ox_tensor *w = ox_randn(OX_SHAPE(100, 300), OX_F32), *x = ox_randn(OX_SHAPE(5, 300), OX_F32);
        const char *name = "w";
        CHECK(ox_save_safetensors(path, &name, &w, 1, NULL, 0, 0) == OX_OK);
        ox_shunt *shunt = open_case(c);
        ox_file *file = ox_file_open(path, ox_shunt_device(shunt));
        ox_tensor *far = file ? ox_file_tensor(file, "w") : NULL;
        CHECK_MSG(far && ox_device_of(far) == ox_shunt_device(shunt), "%s", ox_error_text());
        for (int i = 0; i < 3; i++) {
            ox_tensor *wanted = ox_linear(x, w, NULL);
            CHECK_MSG(same_bits(ox_linear(ox_to(x, ox_shunt_device(shunt)), far, NULL), wanted), "%s",
                      ox_error_text());
            ox_add_number_(w, 1); /* the file stays as it is */
            ox_add_number_(far, 1);
        }
        CHECK(same_bits(far, w));
        ox_file_close(file);
        CHECK(ox_shunt_close(shunt) == OX_OK); /* far keeps it */
        CHECK(same_bits(far, w));
        ox_file *again = ox_file_open(path, ox_cpu());
        CHECK(same_bits(ox_add_number(ox_add_number(ox_add_number(ox_file_tensor(again, "w"), 1), 1), 1), w));
        ox_file_close(again);
    }
    remove(path);
}

#ifdef __linux__
/* Part of a file's pages that the page cache has. */
static double cached_part(const char *path, size_t bytes) {
    size_t pages = bytes / 4096, there = 0;
    unsigned char *is_there = (unsigned char *)calloc(1, pages);
    int file = open(path, O_RDONLY);
    void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    CHECK(memory != MAP_FAILED && mincore(memory, bytes, is_there) == 0);
    for (size_t i = 0; i < pages; i++) there += is_there[i] & 1;
    munmap(memory, bytes);
    close(file);
    free(is_there);
    return (double)there / (double)pages;
}

/* Weights lie in files where no page begins; within a budget they come past the page cache all the same, also
 * when they were changed and went to the spill folder. */
static void test_direct(void) {
    char path[300];
    const char *name = "w", *test = getenv("OX_TEST_TMP");
    snprintf(path, sizeof path, "%s/oxtorch-direct-%d.safetensors", test ? test : ".", (int)getpid());
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = (uint64_t)12 << 20; /* two of them, not three */
    desc.spill = test ? test : ".";
    OX_SCOPE {
        ox_tensor *w = ox_randn(OX_SHAPE(1024, 1024), OX_F32);
        CHECK(ox_save_safetensors(path, &name, &w, 1, NULL, 0, 0) == OX_OK);
        int file = open(path, O_RDONLY), direct = open(path, O_RDONLY | O_DIRECT);
        CHECK(fsync(file) == 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0);
        close(file);
        ox_shunt *shunt = ox_shunt_open(&desc);
        ox_file *opened = ox_file_open(path, ox_shunt_device(shunt));
        ox_tensor *far = ox_file_tensor(opened, "w");
        for (int i = 0; i < 3; i++) {
            ox_tensor *wanted = ox_sum(w, OX_DIMS(1), false);
            CHECK_MSG(same_bits(ox_sum(far, OX_DIMS(1), false), wanted), "%s", ox_error_text());
            ox_add_number_(w, 1);
            ox_add_number_(far, 1);
            ox_tensor *wide = ox_mul_number(ox_to(w, ox_shunt_device(shunt)), 2); /* in its way */
            CHECK(same_bits(wide, ox_mul_number(w, 2)) && same_bits(far, w));
        }
        if (direct < 0)
            check_skip("shunt: reads past the page cache", "no direct reads in the folder of tests");
        else
            CHECK_MSG(cached_part(path, 4 << 20) < 0.5, "%.2f", cached_part(path, 4 << 20));
        if (direct >= 0) close(direct);
        ox_file_close(opened);
        CHECK(ox_shunt_close(shunt) == OX_OK);
    }
    remove(path);
}
#endif

/* What does not fit the device is read from its file once where the host has room for it. */
static void test_copies(void) {
    enum { WEIGHTS = 6, SIDE = 512 };
    static const char *const names[WEIGHTS] = {"a", "b", "c", "d", "e", "f"};
    char path[300];
    ox_tensor *w[WEIGHTS], *far[WEIGHTS];
    snprintf(path, sizeof path, "%s/oxtorch-copies-%d.safetensors", folder(), (int)getpid());
    const shunt_case c = {"copies", (uint64_t)3 << 20, (uint64_t)16 << 20, false};
    OX_SCOPE {
        for (int i = 0; i < WEIGHTS; i++) w[i] = ox_randn(OX_SHAPE(SIDE, SIDE), OX_F32);
        CHECK(ox_save_safetensors(path, names, w, WEIGHTS, NULL, 0, 0) == OX_OK);
        ox_shunt *shunt = open_case(&c);
        ox_file *file = ox_file_open(path, ox_shunt_device(shunt));
        for (int i = 0; i < WEIGHTS; i++) far[i] = ox_file_tensor(file, names[i]);
        ox_tensor *x = ox_randn(OX_SHAPE(4, SIDE), OX_F32), *far_x = ox_to(x, ox_shunt_device(shunt));
        int64_t read[6];
        for (int pass = 0; pass < 6; pass++)
            OX_SCOPE {
                ox_tensor *wanted = x, *got = far_x;
                for (int i = 0; i < WEIGHTS; i++) {
                    wanted = ox_tanh(ox_linear(wanted, w[i], NULL));
                    got = ox_tanh(ox_linear(got, far[i], NULL));
                }
                CHECK_MSG(same_bits(got, wanted), "pass %d: %s", pass, ox_error_text());
                read[pass] = ox_shunt_get_stats(shunt).read_bytes;
            }
        /* Steps that only read are computed with the host's copies where they lie; a change in place leaves
         * the file, and all who read the weight afterwards see it. */
        for (int i = 0; i < WEIGHTS; i++) {
            CHECK(ox_add_number_(w[i], 1) && ox_add_number_(far[i], 1));
            CHECK_MSG(same_bits(ox_linear(far_x, far[i], NULL), ox_linear(x, w[i], NULL)), "%s",
                      ox_error_text());
        }
        for (int i = 0; i < WEIGHTS; i++) CHECK(same_bits(far[i], w[i]));
        const ox_shunt_stats s = ox_shunt_get_stats(shunt);
        /* once more, where half of it would be read with each pass; the disk is measured once */
        CHECK_MSG(read[5] - read[0] < (21 << 20) + 2 * WEIGHTS * SIDE * SIDE * 4,
                  "%lld bytes read, then %lld", (long long)read[0], (long long)read[5]);
        CHECK(s.host_peak <= c.host_bytes && s.device_peak <= c.device_bytes && s.down_bytes > 0);
        ox_file_close(file);
        CHECK(ox_shunt_close(shunt) == OX_OK);
    }
    remove(path);
}

/* ---- captures ------------------------------------------------------------------------------------------ */

static void test_captures(const shunt_case *c) {
    ox_shunt *shunt = open_case(c);
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(30, 40), OX_F32), *w = ox_randn(OX_SHAPE(30, 40), OX_F32);
        ox_tensor *kept = ox_clone(w), *own = ox_clone(w);
        CHECK(ox_capture_begin(shunt) == OX_OK);
        ox_tensor *y = ox_mul(x, w);
        ((float *)ox_data(w))[0] = 1e9f; /* it was copied as it was at the call */
        ox_tensor *z = ox_add(y, ox_ones(OX_SHAPE(30, 40), OX_F32));
        ox_add_(own, y);
        CHECK(ox_data(own) != NULL);
        CHECK(ox_capture_end(shunt) == OX_OK);
        CHECK(ox_device_of(z) == ox_shunt_device(shunt) && ox_device_of(own) == ox_cpu());
        CHECK(same_bits(z, ox_add_number(ox_mul(x, kept), 1)));
        CHECK(same_bits(own, ox_add(kept, ox_mul(x, kept))));
        CHECK(ox_device_of(ox_neg(x)) == ox_cpu());
    }
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* ---- training ------------------------------------------------------------------------------------------ */

enum { LAYERS = 4, WIDTH = 96, BATCH = 16 };

typedef struct network {
    ox_tensor *weight[LAYERS], *bias[LAYERS];
    ox_optimizer *optimizer;
} network;

static network make_network(ox_device *device) {
    network n;
    ox_tensor *all[2 * LAYERS];
    ox_manual_seed(11);
    for (int i = 0; i < LAYERS; i++) {
        n.weight[i] = ox_to(ox_mul_number(ox_randn(OX_SHAPE(WIDTH, WIDTH), OX_F32), 0.1), device);
        n.bias[i] = ox_to(ox_zeros(OX_SHAPE(WIDTH), OX_F32), device);
        all[2 * i] = ox_requires_grad_(n.weight[i], true);
        all[2 * i + 1] = ox_requires_grad_(n.bias[i], true);
    }
    n.optimizer = ox_optimizer_open(OX_OPTIMIZER_ADAMW, all, 2 * LAYERS);
    return n;
}

static double train_step(network *n, ox_tensor *x, ox_tensor *target) {
    double loss = 0;
    OX_SCOPE {
        ox_tensor *h = x;
        for (int i = 0; i < LAYERS; i++) {
            h = ox_linear(h, n->weight[i], n->bias[i]);
            if (i + 1 < LAYERS) h = ox_dropout(ox_gelu(h), 0.1, true);
        }
        ox_tensor *error = ox_mse_loss(h, target, OX_LOSS_MEAN);
        ox_optimizer_zero_grad(n->optimizer);
        CHECK_MSG(ox_backward(error, NULL) == OX_OK, "%s", ox_error_text());
        ox_tensor *all[2 * LAYERS];
        for (int i = 0; i < LAYERS; i++) {
            all[2 * i] = n->weight[i];
            all[2 * i + 1] = n->bias[i];
        }
        CHECK(ox_clip_grad_norm_(all, 2 * LAYERS, 1, 2) != NULL);
        CHECK(ox_optimizer_step(n->optimizer) == OX_OK);
        loss = ox_item(error);
    }
    return loss;
}

static void test_training(const shunt_case *c) {
    enum { STEPS = 8 };
    double losses[STEPS];
    ox_shunt *shunt = open_case(c);
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(BATCH, WIDTH), OX_F32),
                  *y = ox_randn(OX_SHAPE(BATCH, WIDTH), OX_F32);
        network near = make_network(ox_cpu()), far = make_network(ox_shunt_device(shunt));
        ox_tensor *far_x = ox_to(x, ox_shunt_device(shunt)), *far_y = ox_to(y, ox_shunt_device(shunt));
        ox_manual_seed(77);
        for (int i = 0; i < STEPS; i++) losses[i] = train_step(&near, x, y);
        ox_manual_seed(77);
        for (int i = 0; i < STEPS; i++) {
            double loss = train_step(&far, far_x, far_y);
            CHECK_MSG(loss == losses[i], "%s: step %d: %.9g, not %.9g: %s", c->name, i, loss, losses[i],
                      ox_error_text());
        }
        for (int i = 0; i < LAYERS; i++)
            CHECK(same_bits(near.weight[i], far.weight[i]) && same_bits(near.bias[i], far.bias[i]));
        ox_shunt_stats s = ox_shunt_get_stats(shunt);
        CHECK_MSG(c->device_bytes == 0 || s.device_peak <= c->device_bytes, "%llu",
                  (unsigned long long)s.device_peak);
        CHECK_MSG(s.host_peak <= c->host_bytes, "%llu", (unsigned long long)s.host_peak);
        ox_optimizer_close(near.optimizer);
        ox_optimizer_close(far.optimizer);
    }
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* ---- fork ---------------------------------------------------------------------------------------------- */

static void test_fork(void) {
    ox_shunt *shunt = open_case(&cases[1]);
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(100), OX_F32), ox_shunt_device(shunt)), *y = ox_neg(x);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            bool told = ox_item(ox_narrow(y, 0, 0, 1)) == 0 && ox_error() == OX_ERR_DEVICE;
            ox_release(y);
            ox_shunt_close(shunt);
            _exit(told ? 0 : 1);
        }
        int status = 1;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
        CHECK(ox_item(ox_narrow(y, 0, 0, 1)) == -1);
    }
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

int main(void) {
    for (int i = 0; i < CASES; i++) {
        test_lazy(&cases[i]);
        test_changes(&cases[i]);
        test_random(&cases[i]);
        test_errors(&cases[i]);
        test_files(&cases[i]);
        test_captures(&cases[i]);
        test_prepack(&cases[i]);
        test_training(&cases[i]);
    }
    test_deaths();
    for (int i = 0; i < CASES; i++) test_abandoned(&cases[i]);
    for (int i = 0; i < CASES; i++) test_trainers(&cases[i]);
    for (int i = 0; i < CASES; i++) test_closed_elsewhere(&cases[i]);
    test_choices();
    test_refused();
    test_copies();
#ifdef __linux__
    test_direct();
#endif
    test_fork();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0,
              "%lld tensors, %lld storages left", (long long)ox_memory_get_stats().tensors,
              (long long)ox_memory_get_stats().storages);
    return check_done("shunt");
}
