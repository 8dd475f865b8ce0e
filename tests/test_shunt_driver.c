/* test_shunt_driver.c - random programs on a GPU under budgets of the planner and of the device: the bits of
 * the same programs without, and what was asked of the driver in all, counted between it and the library,
 * within the device's budget. By hand: test_shunt_driver 2000 FIRST-SEED. */
#include "check.h"
#include "oxtorch_stream.h"
#include "oxtorch_vulkan.h"

#include <unistd.h>

#if defined(__has_include) && !defined(_WIN32)
#if __has_include(<vulkan/vulkan.h>) && __has_include(<volk.h>)
#define HAS_VULKAN 1
#endif
#endif

#ifdef HAS_VULKAN
#include "shunt_program.h"
#include "vulkan_between.h"

enum { FREELY = 16 << 20 }; /* less than a whole block of the pool's, and more than a program wants */
static ox_device *gpu;
static VkDeviceSize most; /* bytes of the driver's by which a budget was used, in 1/1000 of it */

/* Bytes of the driver's that are none of tensors: rings for transfers. */
static VkDeviceSize bytes_beside(void) {
    return between.memory - ox_device_get_stats(gpu).bytes_reserved;
}

static ox_shunt_desc draw_budgets(const program *p, uint64_t *all) {
    uint64_t one = (uint64_t)p->side * (uint64_t)p->side * 4, least = 6 * (one + 8192);
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.compute = gpu;
    desc.device_bytes = (least > 65536 ? least : 65536) + draw(20 * one);
    desc.host_bytes = 1 + draw(12 * one);
    desc.recompute = (ox_recompute)draw(4);
    desc.eager = draw(10) == 0;
    desc.search_seconds = 0.002;
    desc.spill = spill_folder();
    *all = desc.device_bytes + 4 * one + 65536; /* what an operation needs while it runs */
    return desc;
}

static void run_seed(uint64_t seed) {
    enum { PASSES = 3 };
    static program_result wanted[PASSES];
    ox_tensor *live[LIVE];
    program p = draw_program(seed);
    uint64_t all;
    ox_shunt_desc desc = draw_budgets(&p, &all);
    CHECK(ox_device_set_budget(gpu, FREELY) == OX_OK);
    run_passes(&p, gpu, wanted, PASSES);
    VkDeviceSize beside = bytes_beside();
    CHECK(ox_device_set_budget(gpu, all) == OX_OK);
    between.peak = between.memory;
    ox_shunt *shunt = ox_shunt_open(&desc);
    check_passes(&p, shunt, live, wanted, PASSES);
    ox_shunt_stats s = ox_shunt_get_stats(shunt);
    CHECK_MSG(s.device_peak <= desc.device_bytes && s.host_peak <= desc.host_bytes, "seed %llu: %llu, %llu",
              (unsigned long long)seed, (unsigned long long)s.device_peak, (unsigned long long)s.host_peak);
    VkDeviceSize used = between.peak - beside;
    CHECK_MSG(used <= all, "seed %llu: %llu bytes of the driver's, a budget of %llu",
              (unsigned long long)seed, (unsigned long long)used, (unsigned long long)all);
    if (used * 1000 / all > most) most = used * 1000 / all;
    close_live(live);
    ox_shunt_close(shunt);
    ox_error_clear();
}

int main(int count, char **words) {
    long seeds = 20;
    uint64_t first = 1;
    const char *why;
    if (count > 1) seeds = atol(words[1]);
    if (count > 2) first = strtoull(words[2], NULL, 10);
    setenv("OX_VULKAN_BLOCKS", "apart", 1); /* tensors are allocations of their own */
    gpu = between_gpu(true, &why);
    if (!gpu) return check_skipped("shunt_driver", why);
    CHECK(ox_device_set_budget(gpu, FREELY) == OX_OK);
    for (long i = 0; i < seeds; i++) run_seed(first + (uint64_t)i);
    printf("%.3f of a budget at most by the driver's count\n", (double)most / 1000);
    CHECK(ox_device_close(gpu) == OX_OK);
    CHECK_MSG(between.memory == 0, "%llu bytes left", (unsigned long long)between.memory);
    CHECK_NO_TENSORS();
    return check_done("shunt_driver");
}

#else
int main(void) {
    return check_skipped("shunt_driver", "no Vulkan headers");
}
#endif
