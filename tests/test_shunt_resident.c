/* test_shunt_resident.c - what the process holds beside a budget: memory that others left in the pool goes
 * back when a step is new, and steps that repeat take nothing from the system. */
#include "check.h"
#include "oxtorch_nn.h"
#include "oxtorch_stream.h"

#include <stdlib.h>
#include <string.h>

enum { LAYERS = 16, WIDTH = 768, ROWS = 64, STEPS = 8 };

/* Kilobytes of memory that are no file's, as the system counts them; 0: it does not say. */
static long resident_kilobytes(void) {
    char line[256];
    long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, (int)sizeof line, file))
        if (strncmp(line, "RssAnon:", 8) == 0) kilobytes = strtol(line + 8, NULL, 10);
    if (file) fclose(file);
    return kilobytes;
}

/* 160 MB that somebody needed, in blocks of several sizes. */
static void leave_in_the_pool(void) {
    OX_SCOPE {
        for (int i = 0; i < 40; i++) (void)ox_ones(OX_SHAPE(1000 + 13 * i, 1000), OX_F32);
    }
}

static void train(ox_device *device, ox_tensor **w, ox_optimizer *optimizer, float *loss) {
    OX_SCOPE {
        ox_tensor *h = ox_to(ox_ones(OX_SHAPE(ROWS, WIDTH), OX_F32), device);
        for (int i = 0; i < LAYERS; i++) h = ox_gelu(ox_linear(h, w[i], NULL));
        ox_tensor *mean = ox_mean(ox_mul(h, h), OX_ALL_DIMS, false);
        CHECK(ox_backward(mean, NULL) == OX_OK && ox_optimizer_step(optimizer) == OX_OK);
        ox_optimizer_zero_grad(optimizer);
        *loss = (float)ox_item(mean);
    }
}

int main(void) {
    const char *folder = getenv("OX_TEST_TMP");
    const long before = resident_kilobytes(), beside = 24 << 10;
    const uint64_t budget = (uint64_t)32 << 20;
    ox_tensor *w[LAYERS];
    float loss = 0;
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = budget;
    desc.spill = folder ? folder : ".";
    ox_shunt *shunt = ox_shunt_open(&desc);
    ox_device *device = ox_shunt_device(shunt);
    ox_manual_seed(3);
    for (int i = 0; i < LAYERS; i++) OX_SCOPE {
            ox_tensor *numbers = ox_mul_number(ox_randn(OX_SHAPE(WIDTH, WIDTH), OX_F32), 0.04);
            w[i] = ox_requires_grad_(ox_keep(ox_to(numbers, device)), true);
        }
    ox_optimizer *optimizer = ox_optimizer_open(OX_OPTIMIZER_ADAMW, w, LAYERS);
    leave_in_the_pool();
    int64_t asked = 0;
    for (int step = 0; step < STEPS; step++) {
        if (step == STEPS - 3) asked = ox_memory_get_stats().system_allocs;
        train(device, w, optimizer, &loss);
        long held = resident_kilobytes() - before;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        CHECK_MSG(held <= (long)(budget >> 10) + beside, "step %d: %ld KB held, %llu of the pool's are free",
                  step, held, (unsigned long long)ox_memory_get_stats().bytes_cached);
#endif
        CHECK(ox_memory_get_stats().bytes_cached <= ((size_t)beside << 10) || held == 0);
    }
    asked = ox_memory_get_stats().system_allocs - asked;
    CHECK_MSG(asked <= 3, "three steps that repeat asked the system for %lld blocks", (long long)asked);
    CHECK(loss == loss && ox_error() == OX_OK);
    ox_optimizer_close(optimizer);
    for (int i = 0; i < LAYERS; i++) ox_release(w[i]);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    return check_done("shunt_resident");
}
