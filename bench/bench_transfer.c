/* bench_transfer.c - bytes a second between RAM and a GPU: pinned memory, ordinary memory, a mapped file,
 * both ways at once, beside products, and from one GPU to another; each way that the library has in turn.
 *
 *     bench_transfer [INDEX [MIB [FOLDER]]]     device 0; 1024 MiB, 64 where it is software; $TMPDIR or /tmp
 *
 * Prints the device's queue families and memory first, so that a figure can be explained. Each line: best and
 * median of the runs in GB/s (1e9 bytes), median milliseconds, and what the library counted in the last run:
 * "direct" are copies without the ring of mapped memory that the processor copies through. A section says
 * which of the device's ways it does without (OX_VULKAN_CAPS). The file is written first and lies in the page
 * cache.
 */
#include "oxtorch_vulkan.h"

#include "bench.h"

#if defined(__has_include)
#if __has_include(<volk.h>)
#include <volk.h>
#define HAS_VOLK 1
#endif
#endif

enum { RUNS = 7 };

static int64_t bytes_each;
static bool software;
static char file_path[1024];

/* ---- the device ---------------------------------------------------------------------------------------- */

#ifdef HAS_VOLK
static void print_physical(VkPhysicalDevice physical) {
    VkPhysicalDeviceProperties facts;
    VkPhysicalDeviceMemoryProperties memory;
    VkQueueFamilyProperties families[32];
    uint32_t count = 0;
    vkGetPhysicalDeviceProperties(physical, &facts);
    vkGetPhysicalDeviceMemoryProperties(physical, &memory);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, NULL);
    if (count > 32) count = 32;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    printf("physical device: %s, API %u.%u.%u, driver %x\n", facts.deviceName, facts.apiVersion >> 22,
           facts.apiVersion >> 12 & 0x3ff, facts.apiVersion & 0xfff, facts.driverVersion);
    for (uint32_t i = 0; i < count; i++)
        printf("  queue family %u: %2u queues, flags %03x:%s%s%s%s\n", i, families[i].queueCount,
               families[i].queueFlags, families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT ? " graphics" : "",
               families[i].queueFlags & VK_QUEUE_COMPUTE_BIT ? " compute" : "",
               families[i].queueFlags & VK_QUEUE_TRANSFER_BIT ? " transfer" : "",
               families[i].queueFlags & VK_QUEUE_SPARSE_BINDING_BIT ? " sparse" : "");
    for (uint32_t i = 0; i < memory.memoryHeapCount; i++)
        printf("  heap %u: %.1f GiB%s\n", i, (double)memory.memoryHeaps[i].size / (1 << 30),
               memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT ? ", device-local" : "");
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags f = memory.memoryTypes[i].propertyFlags;
        printf("  type %u: heap %u%s%s%s%s\n", i, memory.memoryTypes[i].heapIndex,
               f & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT ? " device-local" : "",
               f & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT ? " visible" : "",
               f & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT ? " coherent" : "",
               f & VK_MEMORY_PROPERTY_HOST_CACHED_BIT ? " cached" : "");
    }
}

static void print_machine(void) {
    VkApplicationInfo application;
    VkInstanceCreateInfo info;
    VkInstance instance;
    VkPhysicalDevice list[16];
    uint32_t count = 16;
    memset(&application, 0, sizeof application);
    memset(&info, 0, sizeof info);
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    if (volkInitialize() != VK_SUCCESS || vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS) return;
    volkLoadInstanceOnly(instance);
    VkResult result = vkEnumeratePhysicalDevices(instance, &count, list);
    for (uint32_t i = 0; (result == VK_SUCCESS || result == VK_INCOMPLETE) && i < count; i++)
        print_physical(list[i]);
    vkDestroyInstance(instance, NULL);
}
#else
static void print_machine(void) {}
#endif

/* ---- measuring ----------------------------------------------------------------------------------------- */

/* What is timed: begins it, and waits for the end of it. */
typedef struct work {
    ox_device *gpu;
    ox_tensor *host[2], *there[2], *a;
    int products, pieces;
    bool failed;
} work;

typedef void (*step)(work *w);

static void wait_all(work *w) {
    if (w->host[0]) w->failed |= ox_wait(w->host[0]) != OX_OK;
    if (w->host[1]) w->failed |= ox_wait(w->host[1]) != OX_OK;
    w->failed |= ox_device_sync(w->gpu) != OX_OK;
}
static void do_up(work *w) {
    w->failed |= !ox_copy_async_(w->there[0], w->host[0]);
}
static void do_down(work *w) {
    w->failed |= !ox_copy_async_(w->host[0], w->there[0]);
}
static void do_both(work *w) {
    do_up(w);
    w->failed |= !ox_copy_async_(w->host[1], w->there[1]);
}
static void do_pieces_up(work *w) {
    int64_t n = ox_numel(w->there[0]), each = n / w->pieces;
    for (int i = 0; i < w->pieces; i++)
        w->failed |= !ox_copy_async_(ox_narrow(w->there[0], 0, i * each, each),
                                     ox_narrow(w->host[0], 0, i * each, each));
}
static void do_pieces_down(work *w) {
    int64_t n = ox_numel(w->there[0]), each = n / w->pieces;
    for (int i = 0; i < w->pieces; i++)
        w->failed |= !ox_copy_async_(ox_narrow(w->host[0], 0, i * each, each),
                                     ox_narrow(w->there[0], 0, i * each, each));
}
static void do_products(work *w) {
    for (int i = 0; i < w->products; i++) w->failed |= !ox_matmul(w->a, w->a);
}
static void do_products_up(work *w) {
    do_products(w);
    do_up(w);
}
static void do_products_down(work *w) {
    do_products(w);
    do_down(w);
}
static void do_fresh_down(work *w) {
    w->failed |= !ox_to(w->there[0], ox_cpu());
}

static double seconds_of(work *w, step begin) {
    double times[RUNS];
    for (int i = -1; i < RUNS; i++) {
        wait_all(w);
        double start = bench_now();
        OX_SCOPE {
            begin(w);
            wait_all(w);
        }
        if (i >= 0) times[i] = bench_now() - start;
    }
    return bench_median(times, RUNS);
}

static void report(work *w, const char *name, step begin, double passes) {
    double times[RUNS];
    ox_vulkan_stats before = ox_vulkan_get_stats(w->gpu), after;
    double bytes = passes * (double)bytes_each;
    for (int i = -1; i < RUNS; i++) {
        wait_all(w);
        before = ox_vulkan_get_stats(w->gpu);
        double start = bench_now();
        OX_SCOPE {
            begin(w);
            wait_all(w);
        }
        if (i >= 0) times[i] = bench_now() - start;
        after = ox_vulkan_get_stats(w->gpu);
    }
    double middle = bench_median(times, RUNS); /* sorts them */
    printf("  %-34s best %6.2f  median %6.2f GB/s  %8.3f ms   transfers %lld submits %lld waits %lld direct "
           "%lld%s\n",
           name, 1e-9 * bytes / times[0], 1e-9 * bytes / middle, 1e3 * middle,
           (long long)(after.transfers - before.transfers), (long long)(after.submits - before.submits),
           (long long)(after.waits - before.waits), (long long)(after.imports - before.imports),
           w->failed ? "   FAILED" : "");
}

/* ---- kinds of memory ----------------------------------------------------------------------------------- */

static bool same_sum(ox_tensor *a, ox_tensor *b) {
    return ox_item(ox_sum(ox_narrow(a, 0, 0, 1 << 20), OX_ALL_DIMS, false)) ==
           ox_item(ox_sum(ox_narrow(b, 0, 0, 1 << 20), OX_ALL_DIMS, false));
}

static void bench_pinned(ox_device *gpu) {
    const int64_t n = bytes_each / 4;
    work w;
    memset(&w, 0, sizeof w);
    w.gpu = gpu;
    OX_SCOPE {
        double start = bench_now();
        w.host[0] = ox_empty_pinned(OX_SHAPE(n), OX_F32, gpu);
        double made = bench_now() - start;
        w.host[1] = ox_empty_pinned(OX_SHAPE(n), OX_F32, gpu);
        if (!w.host[0] || !w.host[1]) {
            printf("  pinned: %s\n", ox_error_text());
            ox_error_clear();
        } else {
            printf("  pinning %.0f MiB took %.1f ms, pinned %d\n", (double)bytes_each / (1 << 20), 1e3 * made,
                   ox_is_pinned(w.host[0], gpu));
            ox_copy_(w.host[0], ox_arange(0, 1, 1.0 / (double)n, OX_F32));
            ox_copy_(w.host[1], ox_arange(0, 1, 1.0 / (double)n, OX_F32));
            w.there[0] = ox_to(w.host[0], gpu);
            w.there[1] = ox_clone(w.there[0]);
            report(&w, "pinned up", do_up, 1);
            report(&w, "pinned down", do_down, 1);
            report(&w, "pinned up and down at once, sum", do_both, 2);
            for (w.pieces = 4; w.pieces <= 4096 && bytes_each / w.pieces >= 65536; w.pieces *= 8) {
                char name[64];
                snprintf(name, sizeof name, "pinned up, %d pieces", w.pieces);
                report(&w, name, do_pieces_up, 1);
                snprintf(name, sizeof name, "pinned down, %d pieces", w.pieces);
                report(&w, name, do_pieces_down, 1);
            }
            printf("  the same numbers came back: %d\n", same_sum(w.host[0], w.host[1]));
            const int64_t side = software ? 256 : 4096;
            w.a = ox_to(ox_randn(OX_SHAPE(side, side), OX_F32), gpu);
            w.products = 1;
            double alone = seconds_of(&w, do_products), up = seconds_of(&w, do_up);
            w.products = alone < up ? (int)(up / alone) + 1 : 1;
            alone = seconds_of(&w, do_products);
            double beside = seconds_of(&w, do_products_up), below = seconds_of(&w, do_products_down);
            printf("  %d products %.3f ms, upload %.3f ms; with an upload %.3f ms, with a download %.3f ms\n",
                   w.products, 1e3 * alone, 1e3 * up, 1e3 * beside, 1e3 * below);
        }
    }
    OX_SCOPE {
        double start = bench_now();
        w.host[0] = ox_empty_pinned(OX_SHAPE(n), OX_F32, gpu);
        printf("  pinning as much again, which was kept: %.3f ms\n", 1e3 * (bench_now() - start));
    }
    ox_trim();
}

static void bench_ordinary(ox_device *gpu) {
    const int64_t n = bytes_each / 4;
    work w;
    memset(&w, 0, sizeof w);
    w.gpu = gpu;
    OX_SCOPE {
        w.host[0] = ox_arange(0, 1, 1.0 / (double)n, OX_F32);
        w.there[0] = ox_to(w.host[0], gpu);
        w.pieces = bytes_each > (64 << 20) ? (int)(bytes_each / (16 << 20)) : 4;
        report(&w, "ordinary up", do_up, 1);
        report(&w, "ordinary down", do_down, 1);
        report(&w, "ordinary down, fresh memory", do_fresh_down, 1);
        report(&w, "ordinary up, 16 MiB pieces", do_pieces_up, 1);
        report(&w, "ordinary down, 16 MiB pieces", do_pieces_down, 1);
    }
}

static void bench_file(ox_device *gpu) {
    work w;
    memset(&w, 0, sizeof w);
    w.gpu = gpu;
    OX_SCOPE {
        w.there[0] = ox_to(ox_zeros(OX_SHAPE(bytes_each / 4), OX_F32), gpu);
        double times[3];
        for (int i = 0; i < 3; i++) {
            double start = 0;
            OX_SCOPE {
                ox_tensor *fresh = ox_load_file(file_path);
                start = bench_now();
                w.failed |= !fresh || !ox_copy_async_(w.there[0], fresh) || ox_device_sync(gpu) != OX_OK;
                times[i] = bench_now() - start;
            }
        }
        printf("  mapped file up, mapped just before  best %6.2f GB/s%s\n",
               1e-9 * (double)bytes_each / bench_median(times, 3), w.failed ? "   FAILED" : "");
        w.host[0] = ox_load_file(file_path);
        if (w.host[0]) report(&w, "mapped file up, again", do_up, 1);
    }
}

static void bench_host(void) {
    double times[RUNS], single[RUNS];
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(bytes_each / 4), OX_F32), *y = ox_clone(x);
        for (int i = 0; i < RUNS; i++) {
            double start = bench_now();
            ox_copy_(y, x);
            times[i] = bench_now() - start;
            start = bench_now();
            memcpy(ox_data(y), ox_data(x), (size_t)bytes_each);
            single[i] = bench_now() - start;
        }
    }
    printf("RAM to RAM: %.2f GB/s with %d threads, %.2f with one memcpy (bytes copied)\n",
           1e-9 * (double)bytes_each / bench_median(times, RUNS), ox_threads(),
           1e-9 * (double)bytes_each / bench_median(single, RUNS));
}

static void bench_pair(int from, int to) {
    ox_device *a = ox_vulkan(from), *b = ox_vulkan(to);
    double times[RUNS];
    if (!a || !b) return;
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(bytes_each / 4), OX_F32), a), *y = NULL;
        for (int i = -1; i < RUNS; i++)
            OX_SCOPE {
                ox_device_sync(a);
                double start = bench_now();
                y = ox_to(x, b);
                ox_device_sync(b);
                if (i >= 0) times[i] = bench_now() - start;
            }
        y = ox_to(x, b);
        double middle = bench_median(times, RUNS);
        printf("GPU %d to GPU %d: best %.2f, median %.2f GB/s, sum right: %d\n", from, to,
               1e-9 * (double)bytes_each / times[0], 1e-9 * (double)bytes_each / middle,
               y && ox_item(ox_mean(y, OX_ALL_DIMS, false)) == 1);
    }
}

static void bench_section(int index, const char *without, uint32_t missing) {
    static const struct {
        const char *name;
        uint32_t bit;
    } caps[] = {
#define X(name, bit, text) {text, name},
        OX_VULKAN_CAP_LIST(X)
#undef X
    };
    char list[512] = "baseline";
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++)
        if (!(caps[i].bit & missing)) {
            size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, ",%s", caps[i].name);
        }
    setenv("OX_VULKAN_CAPS", list, 1);
    ox_device *gpu = ox_vulkan(index);
    ox_vulkan_info facts;
    if (!gpu || ox_vulkan_get_info(gpu, &facts) != OX_OK) {
        printf("%s: %s\n", without, ox_error_text());
        return;
    }
    software = strcmp(facts.type, "software") == 0;
    if (bytes_each == 0) bytes_each = (int64_t)(software ? 64 : 1024) << 20;
    printf("\n%s: %s, %s, compute in family %d, transfer queue %s, host memory %s, %.0f MiB\n", without,
           facts.name, facts.driver, facts.queue_family, facts.caps & OX_VULKAN_CAP_TRANSFER ? "yes" : "no",
           facts.caps & OX_VULKAN_CAP_HOST_MEMORY ? "yes" : "no", (double)bytes_each / (1 << 20));
    bench_pinned(gpu);
    bench_ordinary(gpu);
    bench_file(gpu);
    ox_error_clear();
    if (ox_device_close(gpu) != OX_OK) printf("%s\n", ox_error_text());
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    int index = count > 1 ? atoi(words[1]) : 0;
    if (count > 2) bytes_each = (int64_t)atoi(words[2]) << 20;
    const char *folder = count > 3 ? words[3] : getenv("TMPDIR");
    snprintf(file_path, sizeof file_path, "%s/bench_transfer.npy", folder ? folder : "/tmp");
    ox_device *gpu = ox_vulkan(index);
    ox_vulkan_info facts;
    if (!gpu || ox_vulkan_get_info(gpu, &facts) != OX_OK) {
        printf("bench_transfer: %s\n", ox_error_text());
        return 0;
    }
    print_machine();
    software = strcmp(facts.type, "software") == 0;
    if (bytes_each == 0) bytes_each = (int64_t)(software ? 64 : 1024) << 20;
    ox_device_close(gpu);
    bench_host();
    OX_SCOPE {
        if (ox_save_npy(file_path, ox_ones(OX_SHAPE(bytes_each / 4), OX_F32)) != OX_OK)
            printf("%s\n", ox_error_text());
    }
    ox_error_clear();
    bench_section(index, "all that the device has", 0);
    bench_section(index, "without import", OX_VULKAN_CAP_HOST_MEMORY);
    bench_section(index, "without the transfer queue", OX_VULKAN_CAP_TRANSFER);
    bench_section(index, "without either", OX_VULKAN_CAP_HOST_MEMORY | OX_VULKAN_CAP_TRANSFER);
    unsetenv("OX_VULKAN_CAPS");
    if (ox_vulkan_count() > 1) {
        bench_pair(0, 1);
        bench_pair(1, 0);
    }
    if (ox_error()) printf("bench_transfer: %s\n", ox_error_text());
    remove(file_path);
    return 0;
}
