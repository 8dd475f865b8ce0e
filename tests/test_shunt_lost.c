/* test_shunt_lost.c - steps on a GPU under a budget whose device is lost, or has no memory, at the n-th call
 * of each kind: while a step is planned and run the first time, and while it is replayed. A step gives an
 * error in words or the right numbers; nothing is left behind, and a shunt on the device that opens again
 * works. */
#include "check.h"
#include "oxtorch_stream.h"
#include "oxtorch_vulkan.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_include) && !defined(_WIN32)
#if __has_include(<vulkan/vulkan.h>) && __has_include(<volk.h>)
#define HAS_VULKAN 1
#endif
#endif

#ifdef HAS_VULKAN
#include "vulkan_between.h"

enum { WEIGHTS = 6, SIDE = 96, STEPS = 4 };
static const char *const call_names[BETWEEN_CALLS] = {"submit", "wait",  "allocate", "buffer",   "bind",
                                                      "map",    "begin", "end",      "pipeline", "module",
                                                      "pool",   "sets",  "fence",    "device",   "instance"};
static char folder[400];
static ox_device *gpu;
static int stepped; /* steps of the last shunt that were good */

static int files_in_folder(void) {
    DIR *d = opendir(folder);
    int files = 0;
    for (struct dirent *e; d && (e = readdir(d));) files += e->d_name[0] != '.';
    if (d) closedir(d);
    return files;
}

/* A step: through all weights, each of which changes in place. False: an error. */
static bool step(ox_tensor **w, ox_tensor *x, float *out) {
    bool good = true;
    OX_SCOPE {
        ox_tensor *h = ox_to(x, ox_device_of(w[0]));
        for (int i = 0; i < WEIGHTS && h; i++) h = ox_tanh(ox_matmul(h, w[i]));
        for (int i = 0; i < WEIGHTS && h && good; i++) good = ox_mul_number_(w[i], 0.99) != NULL;
        good = good && h && ox_to_floats(h, out, SIDE * SIDE) == OX_OK;
    }
    return good;
}

static bool make_weights(ox_device *device, ox_tensor **w) {
    ox_manual_seed(11);
    OX_SCOPE {
        for (int i = 0; i < WEIGHTS; i++) {
            ox_tensor *made = ox_to(ox_mul_number(ox_randn(OX_SHAPE(SIDE, SIDE), OX_F32), 0.1), device);
            w[i] = made ? ox_retain(made) : NULL;
        }
    }
    for (int i = 0; i < WEIGHTS; i++)
        if (!w[i]) return false;
    return true;
}

static ox_shunt *open_shunt(void) {
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.compute = gpu;
    desc.device_bytes = 6 * SIDE * SIDE * 4;
    desc.host_bytes = 2 * SIDE * SIDE * 4;
    desc.spill = folder;
    desc.search_seconds = 0.005;
    return ox_shunt_open(&desc);
}

/* Steps on a shunt, of which the one at `when` meets the fault; false: the fault did not come. */
static bool check_fault(between_call call, long at, VkResult result, int when, ox_tensor *x,
                        float (*right)[SIDE * SIDE]) {
    static float got[SIDE * SIDE];
    ox_tensor *w[WEIGHTS] = {NULL};
    long fired = 0;
    bool good, lost;
    ox_shunt *shunt = open_shunt();
    good = shunt && make_weights(ox_shunt_device(shunt), w);
    CHECK_MSG(good, "%s", ox_error_text());
    stepped = 0;
    for (int i = 0; i < STEPS && good; i++) {
        if (i == when) between_fail(call, at, result);
        good = step(w, x, got);
        stepped += good;
        if (i == when) {
            between.at = 0;
            fired = between.fired;
        }
        CHECK_MSG(good ? memcmp(got, right[i], sizeof got) == 0 : ox_error() != OX_OK && ox_error_text()[0],
                  "%s %ld, step %d: %s", call_names[call], at, i, good ? "differs" : "no words");
        CHECK_MSG(good || i >= when, "%s %ld, step %d before the fault: %s", call_names[call], at, i,
                  ox_error_text());
    }
    lost = between.lost != 0;
    CHECK_MSG(!lost || !good, "%s %ld: a lost device gave numbers", call_names[call], at);
    ox_error_clear();
    for (int i = 0; i < WEIGHTS; i++) { /* each is what it was, or changed, or says that it is lost */
        if (w[i] && !lost && ox_to_floats(w[i], got, SIDE * SIDE) != OX_OK) CHECK(ox_error_text()[0]);
        ox_error_clear();
        ox_release(w[i]);
    }
    CHECK(ox_shunt_close(shunt) == OX_OK || ox_error_text()[0]);
    ox_error_clear();
    CHECK_MSG(files_in_folder() == 0, "%s %ld: files left", call_names[call], at);
    if (lost) {
        (void)ox_device_close(gpu);
        ox_error_clear();
        gpu = ox_vulkan(0);
        CHECK_MSG(gpu != NULL, "%s %ld: not opened again: %s", call_names[call], at, ox_error_text());
    }
    return fired > 0 && gpu;
}

static void check_all(ox_tensor *x, float (*right)[SIDE * SIDE]) {
    static const struct {
        between_call call;
        VkResult result;
    } faults[] = {{BETWEEN_SUBMIT, VK_ERROR_DEVICE_LOST},
                  {BETWEEN_WAIT, VK_ERROR_DEVICE_LOST},
                  {BETWEEN_SUBMIT, VK_ERROR_OUT_OF_DEVICE_MEMORY},
                  {BETWEEN_WAIT, VK_ERROR_OUT_OF_HOST_MEMORY},
                  {BETWEEN_ALLOCATE, VK_ERROR_OUT_OF_DEVICE_MEMORY}};
    ox_vulkan_info info;
    CHECK(ox_vulkan_get_info(gpu, &info) == OX_OK);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        for (int when = 0; when < STEPS; when += 2) { /* the first one, and a replay */
            long fired = 0;
            for (long at = 1; gpu && check_fault(faults[i].call, at, faults[i].result, when, x, right);
                 at += at < 3 ? 1 : 11)
                fired++;
            /* nobody waits for a GPU that is through before */
            CHECK_MSG(fired > 0 || faults[i].call == BETWEEN_ALLOCATE ||
                          (faults[i].call == BETWEEN_WAIT && strcmp(info.type, "software") != 0),
                      "%s is never called", call_names[faults[i].call]);
        }
}

/* Submissions that have no room once, of a device with a queue for transfers: they come a second time. */
static void check_transfers(ox_tensor *x, float (*right)[SIDE * SIDE]) {
    CHECK(ox_device_close(gpu) == OX_OK);
    between.transfers = 1;
    gpu = ox_vulkan(0);
    between.on_transfer_queue = 0;
    for (long at = 1; gpu && check_fault(BETWEEN_SUBMIT, at, VK_ERROR_OUT_OF_HOST_MEMORY, 0, x, right);
         at += 7)
        CHECK_MSG(stepped == STEPS, "%ld: %d steps", at, stepped);
    CHECK(gpu != NULL && between.on_transfer_queue > 0);
    between.transfers = 0;
}

int main(void) {
    static float right[STEPS][SIDE * SIDE];
    const char *temporary = getenv("OX_TEST_TMP"), *why;
    gpu = between_gpu(true, &why);
    if (!gpu) return check_skipped("shunt_lost", why);
    snprintf(folder, sizeof folder, "%s/shunt_lost_XXXXXX", temporary ? temporary : ".");
    CHECK(mkdtemp(folder) != NULL);
    OX_SCOPE {
        ox_tensor *w[WEIGHTS], *x = ox_randn(OX_SHAPE(SIDE, SIDE), OX_F32);
        CHECK(make_weights(gpu, w));
        for (int i = 0; i < STEPS; i++) CHECK_MSG(step(w, x, right[i]), "%s", ox_error_text());
        for (int i = 0; i < WEIGHTS; i++) ox_release(w[i]);
        check_all(x, right);
        check_transfers(x, right);
    }
    CHECK(!gpu || ox_device_close(gpu) == OX_OK);
    CHECK(rmdir(folder) == 0);
    /* the instance stays */
    CHECK_MSG(between.alive <= 1 && between.memory == 0, "%ld objects, %llu bytes left", between.alive,
              (unsigned long long)between.memory);
    CHECK_NO_TENSORS();
    return check_done("shunt_lost");
}

#else
int main(void) {
    return check_skipped("shunt_lost", "no Vulkan headers");
}
#endif
