/* test_shunt_vulkan.c - the planner over a GPU: steps that are planned over its memory, the host's and the
 * disk have the bits of the same operations in its memory, run at once. Skipped without a Vulkan device. */
#include "check.h"
#include "oxtorch_stream.h"
#include "oxtorch_vulkan.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LAYERS = 6, WIDTH = 64 };
#include "shunt_network.h"

static ox_device *gpu;

static double step(network *n, int seed) {
    double loss = 0;
    OX_SCOPE {
        ox_device *device = ox_device_of(n->weight[0]);
        ox_manual_seed((uint64_t)seed);
        ox_tensor *x = ox_randn(OX_SHAPE(32, WIDTH), OX_F32), *h = ox_to(x, device);
        ox_tensor *target = ox_to(ox_flip(ox_tanh(x), OX_DIMS(1)), device);
        for (int i = 0; i < LAYERS; i++)
            h = ox_add(h, ox_dropout(ox_gelu(ox_linear(h, n->weight[i], NULL)), 0.1, true));
        ox_tensor *error = ox_mse_loss(ox_softmax(h, -1), target, OX_LOSS_MEAN);
        ox_optimizer_zero_grad(n->adamw);
        CHECK_MSG(ox_backward(error, NULL) == OX_OK && ox_optimizer_step(n->adamw) == OX_OK, "%s",
                  ox_error_text());
        ox_optimizer_zero_grad(n->adamw);
        loss = ox_item(error);
    }
    return loss;
}

/* Of a shunt over the GPU that spills where tests may write. */
static ox_shunt_desc desc_of(uint64_t device_bytes, uint64_t host_bytes) {
    const char *folder = getenv("OX_TEST_TMP");
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.compute = gpu;
    desc.device_bytes = device_bytes;
    desc.host_bytes = host_bytes;
    desc.spill = folder ? folder : ".";
    return desc;
}

static void run(uint64_t device_bytes, uint64_t host_bytes, const double *wanted, ox_tensor **weights,
                int steps) {
    ox_shunt_desc desc = desc_of(device_bytes, host_bytes);
    if (access("/dev/shm", W_OK) == 0) desc.spill = "/dev/shm";
    ox_shunt *shunt = ox_shunt_open(&desc);
    CHECK_MSG(shunt != NULL, "%s", ox_error_text());
    network n = make_network(ox_shunt_device(shunt));
    for (int i = 0; i < steps; i++) {
        double loss = step(&n, i);
        CHECK_MSG(loss == wanted[i], "%llu bytes, step %d: %.9g, not %.9g: %s",
                  (unsigned long long)device_bytes, i, loss, wanted[i], ox_error_text());
    }
    for (int i = 0; i < LAYERS; i++)
        CHECK(ox_equal(ox_to(n.weight[i], ox_cpu()), ox_to(weights[i], ox_cpu())));
    const ox_shunt_stats s = ox_shunt_get_stats(shunt);
    CHECK_MSG(device_bytes == 0 || (s.device_peak <= device_bytes && s.plans > 0 && s.replays > 0),
              "%llu bytes", (unsigned long long)s.device_peak);
    CHECK(host_bytes == 0 || s.host_peak <= host_bytes);
    CHECK(device_bytes == 0 || s.up_bytes + s.written_bytes > 0);
    drop_network(&n);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* ---- what goes between the disk and the GPU ------------------------------------------------------------ */

enum { MATRICES = 20, ROUNDS = 8 };
static int64_t wide = 256, rows = 256; /* of the matrices, and of what passes through them */

/* Through all matrices, which change in place. */
static double pass(ox_tensor **w) {
    double sum = 0;
    OX_SCOPE {
        ox_device *device = ox_device_of(w[0]);
        ox_tensor *h = ox_to(ox_full(OX_SHAPE(rows, wide), 0.01, OX_F32), device);
        for (int i = 0; i < MATRICES; i++) h = ox_tanh(ox_matmul(h, w[i]));
        for (int i = 0; i < MATRICES; i++) CHECK(ox_mul_number_(w[i], 0.99) != NULL);
        sum = ox_item(ox_sum(h, OX_ALL_DIMS, false));
    }
    return sum;
}

static void make_matrices(ox_device *device, ox_tensor **w) {
    ox_manual_seed(8);
    for (int i = 0; i < MATRICES; i++)
        OX_SCOPE {
            w[i] = ox_retain(ox_to(ox_mul_number(ox_randn(OX_SHAPE(wide, wide), OX_F32), 0.1), device));
        }
}

/* Whether the plan has these words. */
static bool plan_says(ox_shunt *shunt, const char *words) {
    static char text[1 << 18];
    const char *folder = getenv("OX_TEST_TMP");
    char path[500];
    snprintf(path, sizeof path, "%s/shunt_vulkan_%d.txt", folder ? folder : ".", (int)getpid());
    CHECK_MSG(ox_shunt_dump(shunt, path) == OX_OK, "%s", ox_error_text());
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    remove(path);
    text[got] = 0;
    return strstr(text, words) != NULL;
}

/* rings: whether the host's budget has room for them; without, the disk's moves are one instruction. */
static void test_disk(uint64_t host_bytes, bool rings, const double *wanted, ox_tensor **right) {
    ox_tensor *w[MATRICES];
    const ox_shunt_desc desc = desc_of((uint64_t)(6 * wide * wide * 4 + (128 << 10)), host_bytes);
    ox_shunt *shunt = ox_shunt_open(&desc);
    int64_t imports = ox_vulkan_get_stats(gpu).imports;
    make_matrices(ox_shunt_device(shunt), w);
    for (int i = 0; i < ROUNDS; i++) {
        double sum = pass(w);
        CHECK_MSG(sum == wanted[i], "host %llu, pass %d: %.17g, not %.17g: %s",
                  (unsigned long long)host_bytes, i, sum, wanted[i], ox_error_text());
    }
    OX_SCOPE {
        for (int i = 0; i < MATRICES; i++) CHECK(ox_equal(ox_to(w[i], ox_cpu()), ox_to(right[i], ox_cpu())));
    }
    const ox_shunt_stats s = ox_shunt_get_stats(shunt);
    CHECK_MSG(s.device_peak <= desc.device_bytes && s.host_peak <= host_bytes, "%llu, %llu",
              (unsigned long long)s.device_peak, (unsigned long long)s.host_peak);
    CHECK(s.read_bytes > 0 && s.written_bytes > 0 && s.down_bytes > 0 && s.up_bytes > 0);
    CHECK_MSG(plan_says(shunt, "read item") == rings, "host %llu", (unsigned long long)host_bytes);
    CHECK_MSG(plan_says(shunt, "write item") == rings, "host %llu", (unsigned long long)host_bytes);
    if (wide > 256) CHECK(plan_says(shunt, ", 1048576 bytes")); /* a tile */
    CHECK_MSG(s.revised <= 3 * s.plans, "%lld plans, revised %lld", (long long)s.plans, (long long)s.revised);
    CHECK(ox_vulkan_get_stats(gpu).imports > imports); /* copies, rings and tiles are pinned */
    /* what calls and moves take was measured: the guesses of a GPU's are a thousand times off here */
    CHECK_MSG(s.simulated_seconds > 0.01 * s.wall_seconds && s.simulated_seconds < 20 * s.wall_seconds,
              "%g of %g s", s.simulated_seconds, s.wall_seconds);
    printf("host %llu KiB: %.1f ms, simulated %.1f, planned %lld times, %lld KiB read ahead of a step\n",
           (unsigned long long)(host_bytes >> 10), 1e3 * s.wall_seconds, 1e3 * s.simulated_seconds,
           (long long)(s.plans + s.revised), (long long)(s.ahead_bytes >> 10));
    for (int i = 0; i < MATRICES; i++) ox_release(w[i]);
    CHECK_MSG(ox_shunt_close(shunt) == OX_OK, "%s", ox_error_text());
}

static void test_disks(void) {
    double wanted[ROUNDS];
    ox_tensor *right[MATRICES];
    make_matrices(gpu, right);
    for (int i = 0; i < ROUNDS; i++) wanted[i] = pass(right);
    if (wide > 256) {
        test_disk(24 << 20, true, wanted, right); /* rings of tiles of 1 MiB */
    } else {
        test_disk(3 << 20, true, wanted, right);
        test_disk((3 << 20) / 2, true, wanted, right); /* rings of one matrix */
        test_disk(256 << 10, false, wanted, right);
    }
    for (int i = 0; i < MATRICES; i++) ox_release(right[i]);
}

/* y of a weight, then tensors that want its room, then y of it once more: [4,4096] floats. */
static bool use_twice(ox_device *device, ox_tensor *w, float *out) {
    enum { SOME = 11 << 18, OTHERS = 3 };
    bool good = false;
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_full(OX_SHAPE(4, 1024), 0.01, OX_F32), device), *z[OTHERS];
        ox_tensor *half = ox_to(ox_full(OX_SHAPE(1), 0.5, OX_F32), device);
        ox_tensor *y = ox_tanh(ox_matmul(x, w)), *s = ox_mean(y, OX_ALL_DIMS, false);
        for (int i = 0; i < OTHERS; i++) {
            z[i] = ox_tanh_(ox_add_(ox_clone(ox_expand(half, OX_SHAPE(SOME))), s));
            s = ox_mean(z[i], OX_ALL_DIMS, false);
        }
        for (int i = 0; i < OTHERS; i++) s = ox_mean(ox_mul_(z[i], s), OX_ALL_DIMS, false);
        ox_tensor *again = ox_tanh(ox_matmul(ox_add(x, s), w));
        good = ox_to_floats(ox_add(y, again), out, 4 * 4096) == OX_OK;
    }
    return good;
}

static int64_t slow_disk(void *user, int64_t transfer, int64_t bytes) {
    const struct timespec nap = {0, 2000000};
    (void)user;
    (void)transfer;
    nanosleep(&nap, NULL);
    return bytes;
}

/* A weight of more tiles than a ring has, on the disk, that comes twice in a step: what it is read to the
 * second time waits until it has left. */
static void test_twice(void) {
    enum { STEPS = 3, BYTES = 4 * 4096 * sizeof(float) };
    float *wanted = (float *)malloc(BYTES), *got = (float *)malloc(BYTES);
    ox_shunt_desc desc = desc_of(40 << 20, 17 << 20);
    desc.fault = slow_disk; /* or reads that do not wait come at the right time by chance */
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        ox_tensor *weight = ox_mul_number(ox_randn(OX_SHAPE(1024, 4096), OX_F32), 0.1);
        CHECK(use_twice(gpu, ox_to(weight, gpu), wanted));
        CHECK(ox_to(ox_ones(OX_SHAPE(1 << 19), OX_F32), ox_shunt_device(shunt))); /* the host's room */
        ox_tensor *w = ox_to(weight, ox_shunt_device(shunt));
        for (int i = 0; i < STEPS; i++)
            CHECK_MSG(use_twice(ox_shunt_device(shunt), w, got) && memcmp(got, wanted, BYTES) == 0,
                      "step %d: %s", i, ox_error_text());
        CHECK(ox_shunt_get_stats(shunt).read_bytes > 0);
    }
    CHECK_MSG(ox_shunt_close(shunt) == OX_OK, "%s", ox_error_text());
    free(wanted);
    free(got);
}

/* Tensors of the GPU and of the CPU in a capture: as they are at the call, and what is changed in place is
 * changed at once, where it is. */
static void test_capture(uint64_t device_bytes) {
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.compute = gpu;
    desc.device_bytes = device_bytes;
    desc.host_bytes = 8 << 20;
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        ox_tensor *near = ox_randn(OX_SHAPE(100, 100), OX_F32), *x = ox_to(near, gpu);
        ox_tensor *w = ox_to(ox_randn(OX_SHAPE(100, 100), OX_F32), gpu), *kept = ox_clone(w);
        ox_tensor *own = ox_clone(w), *wanted = ox_tanh(ox_matmul(x, kept)), *whole = ox_add(wanted, x);
        CHECK(ox_capture_begin(shunt) == OX_OK);
        ox_tensor *y = ox_matmul(x, w), *z = ox_tanh(y);
        CHECK(ox_zero_(w) && ox_device_of(w) == gpu); /* behind the product that read it */
        ox_tensor *sum = ox_add(z, near);
        CHECK(ox_add_(own, z) && ox_device_of(own) == gpu);
        CHECK_MSG(ox_capture_end(shunt) == OX_OK, "%s", ox_error_text());
        CHECK(ox_device_of(z) == ox_shunt_device(shunt) && ox_device_of(ox_neg(x)) == gpu);
        CHECK(ox_equal(ox_to(z, ox_cpu()), ox_to(wanted, ox_cpu())));
        CHECK(ox_equal(ox_to(sum, ox_cpu()), ox_to(whole, ox_cpu())));
        CHECK(ox_equal(ox_to(own, ox_cpu()), ox_to(ox_add(kept, wanted), ox_cpu())));
        CHECK(ox_item(ox_sum(w, OX_ALL_DIMS, false)) == 0);
        const ox_shunt_stats s = ox_shunt_get_stats(shunt);
        CHECK(s.calls > 0 && s.steps > 0 && (device_bytes == 0 || s.device_peak <= device_bytes));
    }
    CHECK_MSG(ox_shunt_close(shunt) == OX_OK && !ox_error(), "%s", ox_error_text());
}

/* The GPU is closed under a shunt: refused while tensors lie there, and without any what comes next is an
 * error in words or the right number. */
static void test_close(bool has_run) {
    const ox_shunt_desc desc = desc_of(256 << 10, 1 << 20);
    double got;
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(64, 64), OX_F32), ox_shunt_device(shunt)), *sum;
        if (has_run) CHECK(ox_item(ox_sum(ox_add(x, x), OX_ALL_DIMS, false)) == 8192);
        sum = ox_sum(ox_mul_number(x, 3), OX_ALL_DIMS, false); /* kept, not run */
        ox_status status = ox_device_close(gpu);
        CHECK_MSG(status == OX_OK || strstr(ox_error_text(), "still on"), "%s", ox_error_text());
        ox_error_clear();
        got = ox_item(sum);
        CHECK_MSG(ox_error() ? status == OX_OK && ox_error_text()[0] : got == 3 * 64 * 64, "%g: %s", got,
                  ox_error_text());
        ox_error_clear();
        gpu = ox_vulkan(0);
        CHECK_MSG(gpu != NULL, "%s", ox_error_text());
        got = ox_item(ox_sum(ox_add_number(x, 1), OX_ALL_DIMS, false)); /* x was not changed */
        CHECK_MSG(ox_error() ? ox_error_text()[0] : got == 2 * 64 * 64, "%g: %s", got, ox_error_text());
        ox_error_clear();
    }
    CHECK_MSG(ox_shunt_close(shunt) == OX_OK, "%s", ox_error_text());
}

/* A bad index among the GPU's own tensors, before a step whose calls are timed, or the first of all: it is
 * told, and the step has its numbers. */
static void test_others(bool has_run) {
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.compute = gpu;
    desc.device_bytes = 256 << 10;
    desc.host_bytes = 1 << 20;
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(64, 64), OX_F32), ox_shunt_device(shunt));
        ox_tensor *plain = ox_to(ox_ones(OX_SHAPE(64, 64), OX_F32), gpu);
        if (has_run) (void)ox_item(ox_sum(ox_exp(x), OX_ALL_DIMS, false));
        ox_tensor *sum = ox_sum(ox_add(x, x), OX_ALL_DIMS, false);
        (void)ox_index_select(plain, 0, ox_to(ox_full(OX_SHAPE(4), 100, OX_I64), gpu));
        (void)ox_item(sum);
        CHECK_MSG(ox_error() == OX_ERR_INDEX && !strstr(ox_error_text(), "call"), "%s", ox_error_text());
        ox_error_clear();
        CHECK(ox_item(sum) == 2 * 64 * 64 && ox_error() == OX_OK);
    }
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* What is given up stays pinned within the host's budget, also beside copies that are not worth pinning. */
static void test_kept(void) {
    enum { MANY = 28, SMALL = 560, MIB = 1 << 20 };
    static ox_tensor *made[SMALL];
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.compute = gpu;
    desc.device_bytes = 4 * MIB;
    desc.host_bytes = 32 * MIB;
    ox_shunt *shunt = ox_shunt_open(&desc);
    size_t before = 0;
    for (int pass = 0; pass < 2; pass++) {
        int count = pass == 0 ? MANY : SMALL;
        int64_t side = pass == 0 ? 512 : 112; /* a MiB each, then 49 KiB */
        for (int i = 0; i < count; i++)
            OX_SCOPE made[i] = ox_keep(ox_to(ox_ones(OX_SHAPE(side, side), OX_F32), ox_shunt_device(shunt)));
        if (pass == 0) before = ox_memory_get_stats().bytes_in_use;
        for (int i = 0; i < count && pass == 0; i++) ox_release(made[i]);
    }
    size_t now = ox_memory_get_stats().bytes_in_use;
    CHECK_MSG(now < before + MANY * (size_t)MIB / 2, "%zu bytes, before %zu", now, before);
    for (int i = 0; i < SMALL; i++) ox_release(made[i]);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

int main(void) {
    enum { STEPS = 5 };
    double wanted[STEPS];
    gpu = ox_vulkan(0);
    if (!gpu) return check_skipped("shunt_vulkan", ox_error_text());
    OX_SCOPE {
        network n = make_network(gpu);
        for (int i = 0; i < STEPS; i++) wanted[i] = step(&n, i);
        run(0, 0, wanted, n.weight, STEPS);
        run(320 << 10, 8 << 20, wanted, n.weight, STEPS);
        run(320 << 10, 64 << 10, wanted, n.weight, STEPS);
        drop_network(&n);
    }
    test_disks();
    test_twice();
    wide = 768;
    rows = 32;
    test_disks();
    test_capture(0);
    test_capture(192 << 10);
    test_close(false);
    test_close(true);
    test_others(false);
    test_others(true);
    test_kept();
    CHECK_MSG(ox_device_close(gpu) == OX_OK, "%s", ox_error_text());
    CHECK_MSG(ox_memory_get_stats().tensors == 0, "%lld tensors left",
              (long long)ox_memory_get_stats().tensors);
    return check_done("shunt_vulkan");
}
