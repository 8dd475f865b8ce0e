/* test_shunt_insight.c - what a shunt tells: plans made and replayed, statistics, the trace, the dump, the
 * environment; that compressed moves change a loss curve by less than one percent. */
#include "shunt_check.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

enum { LAYERS = 6, WIDTH = 128 };
#include "shunt_network.h"

static double step(network *n, int64_t batch, uint64_t seed) {
    double loss = 0;
    OX_SCOPE {
        ox_device *device = ox_device_of(n->weight[0]);
        ox_manual_seed(seed);
        ox_tensor *x = ox_randn(OX_SHAPE(batch, WIDTH), OX_F32);
        ox_tensor *target = ox_to(ox_flip(ox_tanh(x), OX_DIMS(1)), device), *h = ox_to(x, device);
        ox_tensor *error = NULL;
        OX_SCOPE { /* of the way there, only what gradients need stays, and until they are made */
            for (int i = 0; i < LAYERS; i++) h = ox_add(h, ox_gelu(ox_linear(h, n->weight[i], NULL)));
            error = ox_keep(ox_mse_loss(h, target, OX_LOSS_MEAN));
        }
        ox_optimizer_zero_grad(n->adamw);
        CHECK_MSG(ox_backward(error, NULL) == OX_OK && ox_optimizer_step(n->adamw) == OX_OK, "%s",
                  ox_error_text());
        ox_optimizer_zero_grad(n->adamw);
        loss = ox_item(error);
    }
    return loss;
}

static ox_shunt_desc small_desc(void) {
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = 900 << 10; /* of 1.6 MB of weights, gradients and state */
    desc.host_bytes = 400 << 10;
    desc.spill = folder();
    return desc;
}

/* A step that repeats plans nothing, a changed shape plans once. */
static void test_plans(void) {
    ox_shunt_desc desc = small_desc();
    ox_shunt *shunt = ox_shunt_open(&desc);
    network n = make_network(ox_shunt_device(shunt));
    for (int i = 0; i < 3; i++) step(&n, 16, 1); /* without state, then with it */
    int64_t plans = ox_shunt_get_stats(shunt).plans;
    CHECK_MSG(plans == 2, "%lld plans", (long long)plans);
    for (int i = 0; i < 5; i++) step(&n, 16, (uint64_t)i);
    ox_optimizer_set(n.adamw, OX_ALL_GROUPS, "lr", 1e-4); /* numbers are no part of a plan */
    step(&n, 16, 1);
    CHECK(ox_shunt_get_stats(shunt).plans == plans);
    for (int i = 0; i < 3; i++) step(&n, 24, 1);
    CHECK(ox_shunt_get_stats(shunt).plans == plans + 1);
    step(&n, 16, 1);
    ox_shunt_stats s = ox_shunt_get_stats(shunt);
    CHECK(s.plans == plans + 1 && s.replays > 0);
    CHECK(s.wall_seconds > 0 && s.compute_seconds > 0 && s.bound_seconds >= s.compute_seconds * 0.999);
    CHECK(s.eta > 0 && fabs(s.eta * s.wall_seconds / s.bound_seconds - 1) < 1e-9);
    CHECK(s.simulated_seconds > 0 && s.plan_seconds > 0);
    CHECK(s.up_bytes > 0 && s.down_bytes > 0 && s.read_bytes > 0 && s.written_bytes > 0);
    CHECK(s.device_peak <= desc.device_bytes && s.host_peak <= desc.host_bytes && s.disk_peak > 0);
    drop_network(&n);
    s = ox_shunt_get_stats(shunt);
    CHECK(s.device_bytes == 0 && s.host_bytes == 0 && s.disk_bytes == 0);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* After its first runs a step that repeats is planned no more, neither as a new one nor again by what calls
 * took or by where its items lie. */
enum { SETTLED = 6, REPEATS = 25 };

static void check_settled(ox_shunt *shunt, int run, const char *what) {
    static int64_t made;
    const ox_shunt_stats s = ox_shunt_get_stats(shunt);
    CHECK_MSG(s.revised <= 3 * s.plans, "%s: %lld plans, %lld made again", what, (long long)s.plans,
              (long long)s.revised);
    if (run == SETTLED) made = s.plans + s.revised;
    CHECK_MSG(run < SETTLED || s.plans + s.revised == made, "%s, run %d: %lld plans made, then %lld", what,
              run, (long long)made, (long long)(s.plans + s.revised));
}

static void test_settled(uint64_t host_bytes) {
    ox_shunt_desc desc = small_desc();
    desc.host_bytes = host_bytes;
    ox_shunt *shunt = ox_shunt_open(&desc);
    network n = make_network(ox_shunt_device(shunt));
    for (int run = 1; run <= REPEATS; run++) {
        step(&n, 16, (uint64_t)run);
        check_settled(shunt, run, host_bytes ? "training, host and disk" : "training, disk");
    }
    CHECK(ox_shunt_get_stats(shunt).plans == 2); /* without an optimizer's state, and with it */
    drop_network(&n);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* Of weights in a file the host comes to hold copies, which plans were not made for at first. */
static void test_settled_file(void) {
    enum { WEIGHTS = 12 };
    static const char *const names[WEIGHTS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    char path[300];
    ox_tensor *w[WEIGHTS];
    ox_shunt_desc desc = small_desc(); /* 900 KB, and 400 of the host, of 3 MB */
    snprintf(path, sizeof path, "%s/shunt-settled-%d.safetensors", folder(), (int)getpid());
    OX_SCOPE {
        for (int i = 0; i < WEIGHTS; i++) w[i] = ox_randn(OX_SHAPE(2 * WIDTH, 2 * WIDTH), OX_F32);
        CHECK(ox_save_safetensors(path, names, w, WEIGHTS, NULL, 0, 0) == OX_OK);
        ox_shunt *shunt = ox_shunt_open(&desc);
        ox_file *file = ox_file_open(path, ox_shunt_device(shunt));
        for (int i = 0; i < WEIGHTS; i++) w[i] = ox_file_tensor(file, names[i]);
        ox_tensor *x = ox_to(ox_randn(OX_SHAPE(4, 2 * WIDTH), OX_F32), ox_shunt_device(shunt));
        for (int run = 1; run <= REPEATS; run++)
            OX_SCOPE {
                ox_tensor *h = x;
                for (int i = 0; i < WEIGHTS; i++) h = ox_tanh(ox_linear(h, w[i], NULL));
                CHECK_MSG(isfinite(ox_item(ox_sum(h, OX_ALL_DIMS, false))), "%s", ox_error_text());
                check_settled(shunt, run, "a file");
            }
        CHECK(ox_shunt_get_stats(shunt).plans == 1 && ox_shunt_get_stats(shunt).down_bytes > 0);
        ox_file_close(file);
        CHECK(ox_shunt_close(shunt) == OX_OK);
    }
    remove(path);
}

static char *read_all(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = (char *)calloc(1, 1 << 22);
    size_t got = file && text ? fread(text, 1, (1 << 22) - 1, file) : 0;
    if (file) fclose(file);
    if (text) text[got] = 0;
    return text;
}

/* Spans of a line follow each other: viewers drop what overlaps. */
static void check_lines(const char *json) {
    double over[16] = {0}, start, length;
    int line, spans = 0;
    for (const char *at = json; (at = strstr(at, "\"ph\":\"X\"")) != NULL; at++, spans++) {
        CHECK(sscanf(at, "\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%lf,\"dur\":%lf", &line, &start,
                     &length) == 3);
        CHECK_MSG(line >= 1 && line <= 10 && start >= over[line] - 0.002 && length >= 0,
                  "line %d: %.3f begins before %.3f", line, start, over[line]);
        over[line] = start + length;
    }
    CHECK(spans > 100);
}

/* What waits on a tier is drawn, and said to be more than nothing and no more than there is. */
static void check_strip(const char *svg, const char *tier) {
    char line[40], bar[40];
    double most = 0;
    snprintf(line, sizeof line, ">waits on the %s, at most ", tier);
    snprintf(bar, sizeof bar, "<title>KiB on the %s ", tier);
    const char *at = strstr(svg, line);
    CHECK_MSG(at && sscanf(at + strlen(line), "%lf", &most) == 1 && most > 0 && most < 3e6, "%s: %g", tier,
              most);
    double kib, highest = 0;
    for (at = svg; (at = strstr(at, bar)) != NULL; at++)
        if (sscanf(at + strlen(bar), "%lf", &kib) == 1 && kib > highest) highest = kib;
    CHECK_MSG(highest == floor(most / 1024), "%s: %g KiB drawn, %g bytes said", tier, highest, most);
}

static void test_trace(void) {
    char trace[300], plan[300], drawing[300];
    snprintf(trace, sizeof trace, "%s/shunt-trace-%d.json", folder(), (int)getpid());
    snprintf(plan, sizeof plan, "%s/shunt-plan-%d.txt", folder(), (int)getpid());
    snprintf(drawing, sizeof drawing, "%s/shunt-plan-%d.svg", folder(), (int)getpid());
    ox_shunt_desc desc = small_desc();
    desc.trace = trace;
    ox_shunt *shunt = ox_shunt_open(&desc);
    CHECK(ox_shunt_dump(shunt, plan) == OX_ERR_ARG);
    ox_error_clear();
    network n = make_network(ox_shunt_device(shunt));
    for (int i = 0; i < 3; i++) step(&n, 16, 1);
    CHECK(ox_shunt_dump(shunt, plan) == OX_OK && ox_shunt_dump(shunt, drawing) == OX_OK);
    CHECK(ox_shunt_dump(shunt, "/no/such/folder/x.svg") == OX_ERR_IO);
    ox_error_clear();
    CHECK(ox_shunt_dump(NULL, plan) == OX_ERR_ARG);
    ox_error_clear();
    drop_network(&n);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    char *text = read_all(plan), *svg = read_all(drawing), *json = read_all(trace);
    CHECK(strstr(text, "linear") && strstr(text, "load item") && strstr(text, "save item") &&
          strstr(text, "disk"));
    CHECK(strstr(svg, "<svg ") == svg && strstr(svg, "</svg>") && strstr(svg, "pinned item"));
    check_strip(svg, "host");
    check_strip(svg, "disk");
    static const char *const lanes[] = {"compute", "up", "down", "disk", "plan"};
    for (int i = 0; i < 5; i++) {
        char name[40], event[40];
        snprintf(name, sizeof name, "\"args\":{\"name\":\"%s\"}", lanes[i]);
        CHECK_MSG(strstr(json, name), "no %s in the trace", lanes[i]);
        snprintf(name, sizeof name, "\"tid\":%d,\"args\":{\"sort_index\":%d}", i + 1, 2 * i);
        snprintf(event, sizeof event, "\"pid\":1,\"tid\":%d,\"ts\"", i + 1);
        CHECK_MSG(strstr(json, name) && strstr(json, event), "no %s in the trace", lanes[i]);
    }
    check_lines(json);
    free(text);
    free(svg);
    free(json);
    remove(plan);
    remove(drawing);
    remove(trace);
}

/* Eight tensors of 256 KB beside a device of 1 MB: what does not fit the disk, either, is an error. */
static void test_disk_bytes(void) {
    enum { MANY = 8, COUNT = 1 << 16 };
    ox_shunt_desc desc = small_desc();
    desc.device_bytes = 1 << 20;
    desc.host_bytes = 0;
    for (int fits = 0; fits < 2; fits++) {
        double sum = 0;
        setenv("OX_SHUNT_DISK_BYTES", fits ? "4M" : "256K", 1);
        ox_shunt *shunt = ox_shunt_open(&desc);
        OX_SCOPE {
            ox_tensor *made[MANY];
            for (int i = 0; i < MANY; i++) made[i] = ox_to(ox_full(OX_SHAPE(COUNT), i, OX_F32), ox_cpu());
            for (int i = 0; i < MANY && made[i]; i++) made[i] = ox_to(made[i], ox_shunt_device(shunt));
            for (int i = 0; i < MANY; i++) sum += made[i] ? ox_item(ox_narrow(made[i], 0, 9, 1)) : 0;
            CHECK_MSG(ox_error() == (fits ? OX_OK : OX_ERR_NOMEM), "%d: %s", fits, ox_error_text());
            CHECK_MSG(!fits || sum == MANY * (MANY - 1) / 2, "%g", sum);
        }
        ox_error_clear();
        const ox_shunt_stats s = ox_shunt_get_stats(shunt);
        CHECK_MSG(s.disk_peak > 0 && s.disk_peak <= (fits ? 4u << 20 : 256u << 10), "%llu bytes of the disk",
                  (unsigned long long)s.disk_peak);
        CHECK(ox_shunt_close(shunt) == OX_OK);
    }
    unsetenv("OX_SHUNT_DISK_BYTES");
}

static void test_environment(void) {
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    setenv("OX_SHUNT_DEVICE_BYTES", "1.5M", 1);
    setenv("OX_SHUNT_HOST_BYTES", "64K", 1);
    setenv("OX_SHUNT_SPILL", folder(), 1);
    ox_shunt *shunt = ox_shunt_open(&desc);
    ox_device_stats facts = ox_device_get_stats(ox_shunt_device(shunt));
    CHECK_MSG(facts.bytes_budget == 3u << 19, "%llu", (unsigned long long)facts.bytes_budget);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    desc.device_bytes = 1 << 20; /* what is said in the program holds */
    shunt = ox_shunt_open(&desc);
    CHECK(ox_device_get_stats(ox_shunt_device(shunt)).bytes_budget == 1u << 20);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    desc.device_bytes = 0;
    static const char *const wrong[] = {"much", "1X", "-5", "1MM", "0.5", "K"}; /* no limit is 0 */
    for (int i = 0; i < 6; i++) {
        setenv("OX_SHUNT_DEVICE_BYTES", wrong[i], 1);
        CHECK_MSG(!ox_shunt_open(&desc) && ox_error() == OX_ERR_ARG, "%s", wrong[i]);
        ox_error_clear();
    }
    unsetenv("OX_SHUNT_DEVICE_BYTES");
    static const char *const neither[] = {"yes", "2", "10", "-1"};
    for (int i = 0; i < 4; i++) {
        setenv("OX_SHUNT_EAGER", neither[i], 1);
        CHECK_MSG(!ox_shunt_open(&desc) && ox_error() == OX_ERR_ARG, "%s", neither[i]);
        ox_error_clear();
    }
    setenv("OX_SHUNT_EAGER", "0", 1);
    setenv("OX_SHUNT_TRACE", "", 1);
    CHECK_MSG(ox_shunt_close(ox_shunt_open(&desc)) == OX_OK && !ox_error(), "%s", ox_error_text());
    unsetenv("OX_SHUNT_EAGER");
    unsetenv("OX_SHUNT_TRACE");
    unsetenv("OX_SHUNT_HOST_BYTES");
    unsetenv("OX_SHUNT_SPILL");
}

/* The mean over ten steps at a time of 200, beside a run that moves all bits. */
static void test_compression(ox_compression compression, unsigned which, double most) {
    enum { STEPS = 200, SPAN = 10 };
    double plain[STEPS], packed[STEPS], worst = 0;
    int64_t moved[2];
    for (int k = 0; k < 2; k++) {
        ox_shunt_desc desc = small_desc();
        desc.host_bytes = 64 << 20;
        desc.recompute = OX_RECOMPUTE_OFF;
        desc.compression = k ? compression : OX_COMPRESSION_NONE;
        desc.compress = which | OX_COMPRESS_ALWAYS;
        ox_shunt *shunt = ox_shunt_open(&desc);
        network n = make_network(ox_shunt_device(shunt));
        for (int i = 0; i < STEPS; i++) (k ? packed : plain)[i] = step(&n, 128, (uint64_t)i);
        drop_network(&n);
        moved[k] = ox_shunt_get_stats(shunt).up_bytes;
        CHECK(ox_shunt_close(shunt) == OX_OK);
    }
    for (int i = 0; i < STEPS; i += SPAN) {
        double a = 0, b = 0;
        for (int j = i; j < i + SPAN; j++) {
            a += plain[j];
            b += packed[j];
        }
        CHECK(isfinite(a) && isfinite(b));
        if (fabs(b / a - 1) > worst) worst = fabs(b / a - 1);
    }
    printf("compression %d of %u: %.4f %% off at most, %.0f %% of the bytes\n", (int)compression, which,
           100 * worst, 100.0 * (double)moved[1] / (double)moved[0]);
    CHECK_MSG(worst < most, "compression %d: %.4f", (int)compression, worst);
    CHECK(plain[STEPS - 1] < 0.5 * plain[0]);
    CHECK(worst > 0 && (double)moved[1] < 1.25 * (double)moved[0]); /* what moves is a plan's, by times */
}

/* A disk that moves twenty million bytes a second: a transfer is due when those before it are to be over. */
static int64_t slow_disk(void *user, int64_t number, int64_t bytes) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    double *free_at = (double *)user, now;
    struct timespec time;
    (void)number;
    clock_gettime(CLOCK_MONOTONIC, &time);
    now = (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
    pthread_mutex_lock(&lock);
    *free_at = (*free_at > now ? *free_at : now) + 5e-8 * (double)bytes;
    int64_t wait = (int64_t)(1e9 * (*free_at - now));
    pthread_mutex_unlock(&lock);
    time.tv_sec = (time_t)(wait / 1000000000);
    time.tv_nsec = (long)(wait % 1000000000);
    nanosleep(&time, NULL);
    return bytes;
}

/* Masks of dropout, 256 KB each, that the way back reads again: behind a slow disk they are drawn a second
 * time, with the same numbers. */
enum { DEEP = 10, MASKED = 1 << 16 };

static ox_tensor *there_and_back(ox_tensor *likely) {
    ox_tensor *mask[DEEP], *h = likely;
    OX_SCOPE { /* of which the result alone is held when it runs */
        for (int k = 0; k < DEEP; k++) {
            mask[k] = ox_bernoulli(likely);
            h = ox_add_number(ox_mul(h, mask[k]), 0.25 * (k + 1));
        }
        for (int k = DEEP - 1; k >= 0; k--) h = ox_add_number(ox_mul(h, mask[k]), 0.5);
        h = ox_keep(h);
    }
    return h;
}

static void test_second_mask(void) {
    static float wanted[MASKED], got[MASKED];
    double free_at = 0;
    ox_shunt_desc desc = small_desc();
    desc.device_bytes = 7 * sizeof wanted;
    desc.host_bytes = 0;
    desc.recompute = OX_RECOMPUTE_AGGRESSIVE;
    desc.search_seconds = 0.3; /* enough to come to second runs on a slow machine, too */
    desc.fault = slow_disk;
    desc.fault_user = &free_at;
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        ox_tensor *near = ox_full(OX_SHAPE(MASKED), 0.5, OX_F32), *far = ox_to(near, ox_shunt_device(shunt));
        for (uint64_t seed = 1; seed < 5; seed++)
            OX_SCOPE {
                ox_manual_seed(seed);
                CHECK(ox_to_floats(there_and_back(near), wanted, MASKED) == OX_OK);
                ox_manual_seed(seed);
                CHECK_MSG(ox_to_floats(there_and_back(far), got, MASKED) == OX_OK, "%s", ox_error_text());
                CHECK_MSG(memcmp(got, wanted, sizeof got) == 0, "seed %d", (int)seed);
            }
    }
    const ox_shunt_stats s = ox_shunt_get_stats(shunt);
    CHECK_MSG(s.recomputed > 0, "%lld bytes written, nothing drawn twice", (long long)s.written_bytes);
    CHECK(s.device_peak <= desc.device_bytes);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

enum { GAIN_STEPS = 12 };

/* Losses of steps whose activations, 256 KB each, move by memory of the host or a slow disk; bytes moved. */
static int64_t train_compressed(ox_compression compression, bool slow, double *losses) {
    enum { BATCH = 512 };
    double free_at = 0;
    ox_shunt_desc desc = small_desc();
    desc.device_bytes = 3 << 20;
    desc.host_bytes = slow ? 0 : 64 << 20;
    desc.recompute = OX_RECOMPUTE_OFF;
    desc.compression = compression;
    desc.compress = compression != OX_COMPRESSION_NONE ? OX_COMPRESS_ACTIVATIONS : 0;
    desc.fault = slow ? slow_disk : NULL;
    desc.fault_user = &free_at;
    ox_shunt *shunt = ox_shunt_open(&desc);
    network n = make_network(ox_shunt_device(shunt));
    for (int i = 0; i < GAIN_STEPS; i++) losses[i] = step(&n, BATCH, (uint64_t)i);
    drop_network(&n);
    ox_shunt_stats stats = ox_shunt_get_stats(shunt);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    return slow ? stats.written_bytes : stats.up_bytes;
}

/* Whether the planner took the way that pays: memory of the host is as fast as packing, so all bits move; a
 * slow disk gains by it. Losses are within a hundredth in either case. */
static bool gains(ox_compression packing, bool slow, const double *plain, int64_t all) {
    double packed[GAIN_STEPS], worst = 0;
    int64_t moved = train_compressed(packing, slow, packed);
    double part = (double)moved / (double)all;
    for (int i = 0; i < GAIN_STEPS; i++) {
        double off = fabs(packed[i] / plain[i] - 1);
        worst = !(off <= worst) ? off : worst; /* NaN, too */
    }
    printf("compression %d, %s: %.4f %% off, %.2f of the bytes\n", (int)packing,
           slow ? "a slow disk" : "host", 100 * worst, part);
    CHECK_MSG(worst < 0.01, "compression %d: %.4f %% off", (int)packing, 100 * worst);
    CHECK(moved > 0);
    return slow ? worst > 0 && part < 0.85 : worst == 0;
}

/* What pays hangs on times that are measured, which other programs' work spoils (test_shunt_bytes has the
 * choice itself, by times that are given): one of a few runs. */
static void test_gain(void) {
    static const ox_compression packings[] = {OX_COMPRESSION_F8, OX_COMPRESSION_I8};
    enum { RUNS = 6 };
    double plain[GAIN_STEPS];
    for (int slow = 0; slow < 2; slow++)
        for (int k = 0; k < 2; k++) {
            bool gained = false;
            for (int run = 0; run < RUNS && !gained; run++) {
                int64_t all = train_compressed(OX_COMPRESSION_NONE, slow != 0, plain);
                gained = gains(packings[k], slow != 0, plain, all);
            }
            CHECK_MSG(gained, "compression %d: not what pays in any of %d runs", (int)packings[k], (int)RUNS);
        }
}

/* Room for eight tensors of so many numbers; all others move compressed. */
static ox_shunt_desc compressing_desc(ox_compression compression, size_t count) {
    ox_shunt_desc desc = small_desc();
    desc.device_bytes = 8 * count * sizeof(float);
    desc.host_bytes = 64 << 20;
    desc.recompute = OX_RECOMPUTE_OFF;
    desc.compression = compression;
    desc.compress = OX_COMPRESS_ACTIVATIONS | OX_COMPRESS_STATE /* scopes hold them beyond the step */
                    | OX_COMPRESS_ALWAYS;
    return desc;
}

/* What leaves the device may be far below the smallest half, as gradients are: it comes back as near to what
 * it was as numbers of usual size do. */
static void test_small_numbers(ox_compression compression, double scale, double most) {
    enum { MANY = 12, COUNT = 1 << 15 };
    static float before[COUNT], after[COUNT];
    double worst = 0;
    ox_shunt_desc desc = compressing_desc(compression, COUNT);
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(COUNT), OX_F32), *far = ox_to(x, ox_shunt_device(shunt));
        ox_tensor *made[MANY], *sum = NULL;
        CHECK(ox_to_floats(x, before, COUNT) == OX_OK);
        for (int i = 0; i < MANY; i++) made[i] = ox_mul_number(far, scale * (i + 1));
        for (int i = 0; i < 2 * MANY; i++) { /* twice, so that no order has room for all of them */
            if (i == MANY) sum = ox_mul_number(sum, 0);
            ox_tensor *one = ox_mul_number(made[i % MANY], 1 / scale);
            one = ox_mul_number(one, 1.0 / (i % MANY + 1) / MANY);
            sum = sum ? ox_add(sum, one) : one;
        }
        CHECK_MSG(ox_to_floats(sum, after, COUNT) == OX_OK, "%s", ox_error_text());
    }
    for (int i = 0; i < COUNT; i++) {
        double off = fabs((double)after[i] - before[i]);
        worst = !(off <= worst) ? off : worst; /* NaN, too */
    }
    CHECK_MSG(worst < most, "compression %d of numbers times %g: %g off", (int)compression, scale, worst);
    CHECK(ox_shunt_get_stats(shunt).up_bytes > 0);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* What is not finite stays so, and the numbers around it are as exact as ever. */
static void test_not_finite(ox_compression compression, double most) {
    enum { MANY = 12, COUNT = 1 << 15, ODD = 1000 };
    static float before[COUNT], after[COUNT];
    ox_shunt_desc desc = compressing_desc(compression, COUNT);
    for (int i = 0; i < COUNT; i++) before[i] = (float)(i % 97 - 48);
    for (int i = ODD; i < COUNT; i += ODD) before[i] = i / ODD % 2 ? (float)INFINITY : (float)NAN;
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        ox_tensor *far = ox_to(ox_from_floats(before, OX_SHAPE(COUNT), OX_F32), ox_shunt_device(shunt));
        ox_tensor *made[MANY], *sum = NULL;
        for (int i = 0; i < MANY; i++) made[i] = ox_mul_number(far, i + 1);
        for (int i = 0; i < 2 * MANY; i++) {
            ox_tensor *one = ox_mul_number(made[i % MANY], 0.5 / (i % MANY + 1) / MANY);
            sum = sum ? ox_add(sum, one) : one;
        }
        CHECK_MSG(ox_to_floats(sum, after, COUNT) == OX_OK, "%s", ox_error_text());
    }
    int wrong = 0, at = 0;
    for (int i = 0; i < COUNT; i++)
        if (isfinite(before[i]) ? !(fabs((double)after[i] - before[i]) < most) : isfinite(after[i])) {
            wrong++;
            at = i;
        }
    CHECK_MSG(wrong == 0, "compression %d: %d numbers, %g for %g", (int)compression, wrong, after[at],
              before[at]);
    CHECK(ox_shunt_get_stats(shunt).up_bytes > 0);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* Weights that were made on the device and leave it in a step that only reads them: in copies of fewer bits,
 * the same ones in every step. (What is written from outside waits with all of its bits.) */
static void test_weights(ox_compression compression, double most) {
    enum { MANY = 6, COUNT = 1 << 15, WIDE = 7, PASSES = 4 };
    double norm[2][PASSES];
    for (int k = 0; k < 2; k++) {
        ox_shunt_desc desc = compressing_desc(k ? compression : OX_COMPRESSION_NONE, COUNT);
        desc.compress = k ? OX_COMPRESS_WEIGHTS | OX_COMPRESS_ALWAYS : 0;
        ox_shunt *shunt = ox_shunt_open(&desc);
        ox_manual_seed(3);
        OX_SCOPE {
            ox_tensor *x = ox_to(ox_randn(OX_SHAPE(COUNT), OX_F32), ox_shunt_device(shunt)), *weight[MANY];
            for (int i = 0; i < MANY; i++) weight[i] = ox_mul_number(x, 0.1 * (i + 1));
            CHECK(ox_device_sync(ox_shunt_device(shunt)) == OX_OK);
            for (int pass = 0; pass < PASSES; pass++)
                OX_SCOPE {
                    ox_tensor *sum = NULL;
                    OX_SCOPE {
                        for (int i = 0; i < MANY; i++) sum = sum ? ox_add(sum, weight[i]) : weight[i];
                        ox_tensor *wide[WIDE];
                        for (int i = 0; i < WIDE; i++) wide[i] = ox_mul_number(sum, 0.1 * (i + 1));
                        for (int i = 0; i < WIDE; i++) sum = ox_mul(sum, wide[i]);
                        for (int i = 0; i < MANY; i++) sum = ox_add(sum, weight[i]);
                        sum = ox_keep(ox_norm(sum, 2, OX_ALL_DIMS, false));
                    }
                    norm[k][pass] = ox_item(sum);
                }
        }
        CHECK_MSG(ox_shunt_close(shunt) == OX_OK && !ox_error(), "%s", ox_error_text());
    }
    for (int pass = 0; pass < PASSES; pass++)
        CHECK_MSG(fabs(norm[1][pass] / norm[0][0] - 1) < most && norm[0][pass] == norm[0][0],
                  "compression %d, pass %d: %.9g, not %.9g", (int)compression, pass, norm[1][pass],
                  norm[0][0]);
    CHECK(norm[1][PASSES - 1] != norm[0][0] && norm[1][PASSES - 1] == norm[1][1]);
}

/* Logarithms that e is raised to on the way back move with all of their bits. */
static void test_logarithms(void) {
    enum { MANY = 12, ROWS = 64, COLUMNS = 512 };
    ox_shunt_desc desc = compressing_desc(OX_COMPRESSION_F8, ROWS * COLUMNS);
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(ROWS, COLUMNS), OX_F32), *far = ox_to(x, ox_shunt_device(shunt));
        ox_tensor *made[MANY], *plain[MANY];
        for (int i = 0; i < MANY; i++) made[i] = ox_log_softmax(ox_mul_number(far, i + 1), 1);
        for (int i = 0; i < MANY; i++) plain[i] = ox_log_softmax(ox_mul_number(x, i + 1), 1);
        for (int i = 0; i < MANY; i++) CHECK_MSG(same_bits(plain[i], made[i]), "%d: %s", i, ox_error_text());
    }
    CHECK(ox_shunt_get_stats(shunt).up_bytes > 0);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

enum { CHANGED = 12 };

/* Gradients that are all needed before the first weight changes by one: they leave the device meanwhile. */
static void change(ox_tensor *x, ox_tensor *const *weights) {
    OX_SCOPE {
        ox_tensor *gradient[CHANGED], *sum = NULL;
        for (int i = 0; i < CHANGED; i++) {
            gradient[i] = ox_mul_number(x, i + 1);
            sum = sum ? ox_add(sum, gradient[i]) : gradient[i];
        }
        for (int i = 0; i < CHANGED; i++) ox_addcmul_(weights[i], gradient[i], sum, 0.5);
    }
}

/* What an item that stays is changed by moves with all of its bits, as that does. */
static void test_changes(void) {
    enum { COUNT = 1 << 15 };
    ox_shunt_desc desc = compressing_desc(OX_COMPRESSION_F8, COUNT);
    desc.compress = OX_COMPRESS_ACTIVATIONS | OX_COMPRESS_ALWAYS;
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(COUNT), OX_F32), *far = ox_to(x, ox_shunt_device(shunt));
        ox_tensor *weights[2][CHANGED];
        for (int i = 0; i < CHANGED; i++) {
            weights[0][i] = ox_randn(OX_SHAPE(COUNT), OX_F32);
            weights[1][i] = ox_to(weights[0][i], ox_shunt_device(shunt));
        }
        change(x, weights[0]);
        change(far, weights[1]);
        for (int i = 0; i < CHANGED; i++)
            CHECK_MSG(same_bits(weights[0][i], weights[1][i]), "%d: %s", i, ox_error_text());
    }
    CHECK(ox_shunt_get_stats(shunt).up_bytes > 0);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

int main(void) {
    static const double scales[] = {1, 1e-9, 1e-30, 1e9};
    for (int i = 0; i < 4; i++) {
        test_small_numbers(OX_COMPRESSION_F16, scales[i], 0.004);
        test_small_numbers(OX_COMPRESSION_F8, scales[i], 0.15); /* a sum may move several times */
        test_small_numbers(OX_COMPRESSION_I8, scales[i], 0.04);
        test_small_numbers(OX_COMPRESSION_Q4, scales[i], 0.6);
    }
    test_not_finite(OX_COMPRESSION_F16, 0.1);
    test_not_finite(OX_COMPRESSION_F8, 2);
    test_weights(OX_COMPRESSION_F16, 0.001);
    test_weights(OX_COMPRESSION_I8, 0.01);
    test_logarithms();
    test_changes();
    test_plans();
    test_settled(0);
    test_settled(400 << 10);
    test_settled_file();
    test_trace();
    test_environment();
    test_disk_bytes();
    test_second_mask();
    test_gain();
    test_compression(OX_COMPRESSION_F16, OX_COMPRESS_ACTIVATIONS, 0.01);
    test_compression(OX_COMPRESSION_F8, OX_COMPRESS_ACTIVATIONS, 0.01);
    test_compression(OX_COMPRESSION_I8, OX_COMPRESS_ACTIVATIONS, 0.01);
    test_compression(OX_COMPRESSION_Q4, OX_COMPRESS_ACTIVATIONS, 0.2);
    CHECK_NO_TENSORS();
    return check_done("shunt_insight");
}
