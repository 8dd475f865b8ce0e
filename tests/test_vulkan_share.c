/* test_vulkan_share.c - devices beside each other and beside a renderer: two open at once, copies between
 * them, a renderer with its VkDevice, queue and lock, buffers both ways, nothing of the program destroyed;
 * one device used by several threads. OX_TSAN */
#include "backwards.h"
#include "operands.h"
#include "oxtorch_vulkan.h"

#if defined(__has_include) && !defined(_WIN32)
#if __has_include(<vulkan/vulkan.h>) && __has_include(<volk.h>)
#define HAS_VULKAN 1
#endif
#endif

#ifdef HAS_VULKAN
#include "vulkan_between.h"

#include <pthread.h>
#include <volk.h>

static bool says(const char *word) {
    return ox_error() != OX_OK && strstr(ox_error_text(), word);
}

/* ---- two devices --------------------------------------------------------------------------------------- */

/* a and b differ, and both are open. */
static void check_pair(ox_device *a, ox_device *b) {
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(7, 30), OX_F32), *y = ox_to(x, a);
        ox_tensor *z = ox_to(ox_t(ox_slice(y, 1, 0, 30, 2)), b), *w = ox_to(backwards(x, OX_DIMS(1)), b);
        CHECK_MSG(z && same_bits(ox_to(z, ox_cpu()), ox_t(ox_slice(x, 1, 0, 30, 2))), "%s", ox_error_text());
        CHECK(!ox_add(y, w) && ox_error() == OX_ERR_DEVICE && says("vulkan:"));
        ox_error_clear();
        CHECK(!ox_matmul(y, ox_t(w)) && ox_error() == OX_ERR_DEVICE);
        ox_error_clear();
        CHECK(!ox_add_(y, w) && ox_error() == OX_ERR_DEVICE);
        ox_error_clear();
        CHECK_MSG(ox_copy_(ox_narrow(y, 1, 3, 10), ox_narrow(w, 1, 5, 10)) != NULL, "%s", ox_error_text());
        ox_copy_(ox_narrow(x, 1, 3, 10), ox_to(ox_narrow(w, 1, 5, 10), ox_cpu()));
        CHECK(same_bits(ox_to(y, ox_cpu()), x));
        ox_tensor *sum = ox_add(ox_to(y, b), w); /* work of both under way at once */
        ox_tensor *other = ox_exp(y);
        CHECK(ox_allclose(ox_to(sum, ox_cpu()), ox_add(x, ox_to(w, ox_cpu())), 1e-6, 1e-6, false));
        CHECK(ox_allclose(ox_to(other, ox_cpu()), ox_exp(x), 1e-5, 1e-6, false));
        CHECK(!ox_to(ox_view(ox_zeros(OX_SHAPE(0), OX_F32), OX_SHAPE(0, 3)), a) == false);
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_error_clear();
}

static void check_two(void) {
    CHECK(ox_vulkan_use_loader(between_loader) == OX_OK);
    between.twice = 1;
    CHECK(ox_vulkan_count() >= 2);
    ox_device *a = ox_vulkan(0), *b = ox_vulkan(1);
    CHECK_MSG(a && b && a != b && ox_vulkan(0) == a, "%s", ox_error_text());
    if (a && b) check_pair(a, b);
    if (a) CHECK(ox_device_close(a) == OX_OK);
    if (b) { /* goes on without the other */
        OX_SCOPE {
            CHECK(ox_item(ox_sum(ox_to(ox_ones(OX_SHAPE(9), OX_F32), b), OX_ALL_DIMS, false)) == 9);
        }
        CHECK(ox_device_close(b) == OX_OK);
    }
    between.twice = 0;
    CHECK(ox_vulkan_use_loader(NULL) == OX_OK);
    CHECK_MSG(between.alive == 0, "%ld objects left", between.alive);
}

/* ---- a renderer ---------------------------------------------------------------------------------------- */

enum { BUFFER_BYTES = 1 << 16, HALF = BUFFER_BYTES / 2 };

/* A program with a device of its own, and buffers that it can read as they lie. */
typedef struct renderer {
    PFN_vkGetInstanceProcAddr loader;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkCommandPool pool[2]; /* one for work that is not waited for */
    VkCommandBuffer commands[2];
    VkBuffer buffer;
    VkDeviceMemory memory;
    unsigned char *mapped;
    pthread_mutex_t lock;
    long locked;
} renderer;

static void take_lock(void *user) {
    renderer *r = (renderer *)user;
    pthread_mutex_lock(&r->lock);
    r->locked++;
}

static void give_lock(void *user) {
    pthread_mutex_unlock(&((renderer *)user)->lock);
}

static PFN_vkVoidFunction of_device(const renderer *r, const char *name) {
    PFN_vkGetDeviceProcAddr get = (PFN_vkGetDeviceProcAddr)r->loader(r->instance, "vkGetDeviceProcAddr");
    return get(r->device, name);
}
#define OF_INSTANCE(r, name) ((PFN_##name)(r)->loader((r)->instance, #name))
#define OF_DEVICE(r, name) ((PFN_##name)of_device(r, #name))

static bool make_buffer(renderer *r) {
    VkBufferCreateInfo info;
    VkMemoryAllocateInfo allocate;
    VkMemoryRequirements needs;
    VkPhysicalDeviceMemoryProperties types;
    VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    void *mapped = NULL;
    memset(&info, 0, sizeof info);
    memset(&allocate, 0, sizeof allocate);
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = BUFFER_BYTES;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    if (OF_DEVICE(r, vkCreateBuffer)(r->device, &info, NULL, &r->buffer) != VK_SUCCESS) return false;
    OF_DEVICE(r, vkGetBufferMemoryRequirements)(r->device, r->buffer, &needs);
    OF_INSTANCE(r, vkGetPhysicalDeviceMemoryProperties)(r->physical, &types);
    allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocate.allocationSize = needs.size > 1 << 20 ? needs.size : 1 << 20; /* what drivers give at least */
    while (allocate.memoryTypeIndex < types.memoryTypeCount &&
           (!(needs.memoryTypeBits >> allocate.memoryTypeIndex & 1) ||
            (types.memoryTypes[allocate.memoryTypeIndex].propertyFlags & wanted) != wanted))
        allocate.memoryTypeIndex++;
    if (OF_DEVICE(r, vkAllocateMemory)(r->device, &allocate, NULL, &r->memory) != VK_SUCCESS ||
        OF_DEVICE(r, vkBindBufferMemory)(r->device, r->buffer, r->memory, 0) != VK_SUCCESS ||
        OF_DEVICE(r, vkMapMemory)(r->device, r->memory, 0, VK_WHOLE_SIZE, 0, &mapped) != VK_SUCCESS)
        return false;
    r->mapped = (unsigned char *)mapped;
    return true;
}

static bool make_commands(renderer *r) {
    VkCommandPoolCreateInfo pool;
    VkCommandBufferAllocateInfo allocate;
    memset(&pool, 0, sizeof pool);
    memset(&allocate, 0, sizeof allocate);
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.queueFamilyIndex = r->family;
    allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocate.commandBufferCount = 1;
    for (int i = 0; i < 2; i++) {
        VkResult result = OF_DEVICE(r, vkCreateCommandPool)(r->device, &pool, NULL, &r->pool[i]);
        allocate.commandPool = r->pool[i];
        if (result != VK_SUCCESS ||
            OF_DEVICE(r, vkAllocateCommandBuffers)(r->device, &allocate, &r->commands[i]) != VK_SUCCESS)
            return false;
    }
    return true;
}

static bool make_renderer(renderer *r, PFN_vkGetInstanceProcAddr loader) {
    const float priority = 1;
    uint32_t count = 1, family_count = 0;
    VkApplicationInfo application;
    VkInstanceCreateInfo instance;
    VkDeviceQueueCreateInfo queue;
    VkDeviceCreateInfo device;
    VkQueueFamilyProperties families[16];
    memset(r, 0, sizeof *r);
    memset(&application, 0, sizeof application);
    memset(&instance, 0, sizeof instance);
    memset(&queue, 0, sizeof queue);
    memset(&device, 0, sizeof device);
    pthread_mutex_init(&r->lock, NULL);
    r->loader = loader;
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    instance.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    instance.pApplicationInfo = &application;
    if (OF_INSTANCE(r, vkCreateInstance)(&instance, NULL, &r->instance) != VK_SUCCESS) return false;
    VkResult result = OF_INSTANCE(r, vkEnumeratePhysicalDevices)(r->instance, &count, &r->physical);
    if ((result != VK_SUCCESS && result != VK_INCOMPLETE) || count == 0) return false;
    OF_INSTANCE(r, vkGetPhysicalDeviceQueueFamilyProperties)(r->physical, &family_count, NULL);
    if (family_count > 16) family_count = 16;
    OF_INSTANCE(r, vkGetPhysicalDeviceQueueFamilyProperties)(r->physical, &family_count, families);
    if (family_count == 0 || !(families[0].queueFlags & VK_QUEUE_COMPUTE_BIT)) return false;
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    device.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device.queueCreateInfoCount = 1;
    device.pQueueCreateInfos = &queue;
    if (OF_INSTANCE(r, vkCreateDevice)(r->physical, &device, NULL, &r->device) != VK_SUCCESS) return false;
    OF_DEVICE(r, vkGetDeviceQueue)(r->device, 0, 0, &r->queue);
    return make_buffer(r) && make_commands(r);
}

static void drop_renderer(renderer *r) {
    for (int i = 0; i < 2; i++) OF_DEVICE(r, vkDestroyCommandPool)(r->device, r->pool[i], NULL);
    OF_DEVICE(r, vkDestroyBuffer)(r->device, r->buffer, NULL);
    OF_DEVICE(r, vkFreeMemory)(r->device, r->memory, NULL);
    OF_DEVICE(r, vkDestroyDevice)(r->device, NULL);
    OF_INSTANCE(r, vkDestroyInstance)(r->instance, NULL);
    pthread_mutex_destroy(&r->lock);
}

/* The renderer's own work: fills a range of its buffer with a word, or copies into it; waits if asked to. */
static bool draw(renderer *r, VkBuffer from, VkDeviceSize at, VkDeviceSize to, VkDeviceSize bytes,
                 uint32_t word, bool waits) {
    VkCommandBufferBeginInfo begin;
    VkSubmitInfo info;
    VkBufferCopy region;
    VkCommandBuffer commands = r->commands[waits];
    memset(&begin, 0, sizeof begin);
    memset(&info, 0, sizeof info);
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    region.srcOffset = at;
    region.dstOffset = to;
    region.size = bytes;
    OF_DEVICE(r, vkResetCommandPool)(r->device, r->pool[waits], 0);
    OF_DEVICE(r, vkBeginCommandBuffer)(commands, &begin);
    if (from)
        OF_DEVICE(r, vkCmdCopyBuffer)(commands, from, r->buffer, 1, &region);
    else
        OF_DEVICE(r, vkCmdFillBuffer)(commands, r->buffer, to, bytes, word);
    OF_DEVICE(r, vkEndCommandBuffer)(commands);
    pthread_mutex_lock(&r->lock);
    bool drawn = OF_DEVICE(r, vkQueueSubmit)(r->queue, 1, &info, VK_NULL_HANDLE) == VK_SUCCESS;
    if (waits) drawn = OF_DEVICE(r, vkQueueWaitIdle)(r->queue) == VK_SUCCESS && drawn;
    pthread_mutex_unlock(&r->lock);
    return drawn;
}

static int given_back;

static void take_back(void *user, void *data) {
    (void)user;
    (void)data;
    given_back++;
}

static void check_frames(renderer *r, ox_device *gpu) {
    OX_SCOPE {
        uint64_t handle = 0;
        memcpy(&handle, &r->buffer, sizeof r->buffer);
        ox_tensor *lent =
            ox_vulkan_from_buffer(gpu, handle, HALF, HALF, OX_SHAPE(64, 128), OX_I32, take_back, NULL);
        CHECK_MSG(lent != NULL, "%s", ox_error_text());
        CHECK(!ox_vulkan_from_buffer(gpu, handle, HALF + 4, 64, OX_SHAPE(16), OX_I32, NULL, NULL));
        ox_error_clear();
        for (int frame = 1; frame <= 3; frame++) { /* fill, compute on it, copy the result back: one wait */
            CHECK(draw(r, VK_NULL_HANDLE, 0, HALF, HALF, (uint32_t)(5 * frame), false));
            ox_tensor *sum = ox_sum(backwards(ox_t(lent), OX_DIMS(0)), OX_DIMS(1), false); /* [128] */
            ox_tensor *result = ox_cast(ox_add(sum, ox_integer(frame)), OX_I32);
            uint64_t at = 0, made = ox_vulkan_buffer_of(ox_narrow(result, 0, 3, 100), &at);
            VkBuffer from = VK_NULL_HANDLE;
            memcpy(&from, &made, sizeof from);
            CHECK(draw(r, from, at, 0, 400, 0, true));
            for (int i = 0; i < 100; i++) {
                int32_t got;
                memcpy(&got, r->mapped + 4 * i, 4);
                CHECK_MSG(got == 64 * 5 * frame + frame, "frame %d: %d", frame, got);
            }
        }
        ox_mul_(lent, ox_integer(-2)); /* and written in place, seen by the renderer */
        CHECK(ox_vulkan_buffer_of(lent, NULL) == handle);
        CHECK(draw(r, r->buffer, HALF, 0, 512, 0, true));
        int32_t got[128];
        memcpy(got, r->mapped, sizeof got);
        CHECK(got[0] == -30 && got[127] == -30);
        OF_DEVICE(r, vkQueueWaitIdle)(r->queue);
    }
    CHECK(given_back == 1);
    given_back = 0;
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
}

/* The renderer draws in a thread of its own, as long as it is told to. */
typedef struct frames {
    renderer *r;
    int stop; /* atomic */
    long drawn;
} frames;

static void *draw_on(void *user) {
    frames *f = (frames *)user;
    while (!__atomic_load_n(&f->stop, __ATOMIC_ACQUIRE))
        if (draw(f->r, VK_NULL_HANDLE, 0, 1024, 1024, 7, true)) f->drawn++;
    return NULL;
}

static void check_renderer(PFN_vkGetInstanceProcAddr loader, ox_vulkan_loader handed) {
    renderer r;
    bool counted = handed != NULL; /* goes through the counting functions */
    if (!make_renderer(&r, loader)) {
        CHECK_MSG(false, "no device for the renderer");
        return;
    }
    long alive = between.alive;
    ox_vulkan_desc desc;
    memset(&desc, 0, sizeof desc);
    CHECK(!ox_vulkan_open(&desc) && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    desc.instance = r.instance;
    desc.physical_device = r.physical;
    desc.device = r.device;
    desc.queue = r.queue;
    desc.queue_family = r.family;
    desc.get_instance_proc_addr = handed;
    desc.lock = take_lock;
    CHECK(!ox_vulkan_open(&desc) && ox_error() == OX_ERR_ARG); /* lock without unlock */
    ox_error_clear();
    desc.unlock = give_lock;
    desc.user = &r;
    ox_device *gpu = ox_vulkan_open(&desc), *own = ox_vulkan(0);
    ox_vulkan_info facts;
    CHECK_MSG(gpu && own && gpu != own, "%s", ox_error_text());
    CHECK(ox_vulkan_get_info(gpu, &facts) == OX_OK && facts.shared);
    CHECK(!(facts.caps & ~(uint32_t)OX_VULKAN_CAP_SUBGROUP)); /* the device was made with nothing else */
    check_frames(&r, gpu);
    if (own) check_pair(gpu, own);
    frames f = {&r, 0, 0};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, draw_on, &f) == 0);
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(50, 50), OX_F32), gpu);
        for (int i = 0; i < 50; i++) {
            x = ox_mul(ox_matmul(x, x), ox_number(1.0 / 50));
            CHECK(fabs(ox_item(ox_mean(x, OX_ALL_DIMS, false)) - 1) < 1e-3);
        }
        /* sums of attention by subgroups whose size is not known */
        ox_tensor *q = ox_randn(OX_SHAPE(4, 1, 64), OX_F32), *k = ox_randn(OX_SHAPE(2, 300, 64), OX_F32);
        ox_tensor *half = ox_cast(k, OX_F16), *there = ox_to(half, gpu);
        ox_tensor *want = ox_scaled_dot_product_attention(q, half, half, NULL);
        ox_tensor *got = ox_scaled_dot_product_attention(ox_to(q, gpu), there, there, NULL);
        CHECK(ox_allclose(ox_to(got, ox_cpu()), want, 1e-3, 1e-3, false));
    }
    if (own) CHECK(ox_device_close(own) == OX_OK);
    CHECK(ox_device_close(gpu) == OX_OK); /* while the renderer goes on */
    __atomic_store_n(&f.stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK_MSG(f.drawn > 0 && r.locked > 50, "%ld frames, locked %ld times", f.drawn, r.locked);
    CHECK(draw(&r, VK_NULL_HANDLE, 0, 0, 1024, 9, true) && r.mapped[0] == 9);
    if (counted) CHECK_MSG(between.alive == alive, "%ld objects, not %ld", between.alive, alive);
    drop_renderer(&r);
}

/* A program that uses volk keeps the functions that it has loaded. */
static void check_volk(void) {
    renderer r;
    if (volkInitialize() != VK_SUCCESS || !make_renderer(&r, vkGetInstanceProcAddr)) return;
    volkLoadInstance(r.instance);
    volkLoadDevice(r.device);
    PFN_vkQueueSubmit submit = vkQueueSubmit;
    PFN_vkCreateDevice create = vkCreateDevice;
    PFN_vkGetDeviceProcAddr get = vkGetDeviceProcAddr;
    PFN_vkGetInstanceProcAddr loader = vkGetInstanceProcAddr;
    ox_device *own = ox_vulkan(0);
    CHECK_MSG(own != NULL, "%s", ox_error_text());
    CHECK(submit == vkQueueSubmit && create == vkCreateDevice && get == vkGetDeviceProcAddr &&
          loader == vkGetInstanceProcAddr && volkGetLoadedInstance() == r.instance);
    if (own) CHECK(ox_device_close(own) == OX_OK);
    drop_renderer(&r);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

typedef struct worker {
    ox_device *gpu;
    int number;
    int wrong;
} worker;

static void *use_device(void *user) {
    worker *w = (worker *)user;
    for (int round = 0; round < 6; round++)
        OX_SCOPE {
            ox_tensor *x = ox_full(OX_SHAPE(33 + w->number, 20), w->number + 1, OX_F32);
            ox_tensor *y = ox_to(x, w->gpu);
            for (int i = 0; i < 10; i++) y = ox_add(ox_mul(y, ox_number(0.5)), backwards(y, OX_DIMS(0)));
            ox_tensor *sums = ox_to(ox_sum(ox_t(y), OX_DIMS(1), false), ox_cpu());
            double want = (33 + w->number) * (w->number + 1) * pow(1.5, 10);
            double got = sums ? ox_item(ox_mean(sums, OX_ALL_DIMS, false)) : 0;
            ox_vulkan_info facts;
            bool known =
                ox_vulkan_get_info(w->gpu, &facts) == OX_OK && ox_vulkan_get_stats(w->gpu).dispatches > 0;
            if (!(fabs(got - want) < 1e-4 * want) || !known || ox_error() != OX_OK) w->wrong++;
            ox_error_clear();
        }
    return NULL;
}

static void check_threads(void) {
    pthread_t thread[4];
    worker workers[4];
    ox_device *gpu = ox_vulkan(0);
    CHECK_MSG(gpu != NULL, "%s", ox_error_text());
    if (!gpu) return;
    for (int i = 0; i < 4; i++) {
        workers[i].gpu = gpu;
        workers[i].number = i;
        workers[i].wrong = 0;
        CHECK(pthread_create(&thread[i], NULL, use_device, &workers[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        CHECK_MSG(workers[i].wrong == 0, "thread %d: %d rounds wrong", i, workers[i].wrong);
    }
    CHECK(ox_device_close(gpu) == OX_OK);
}

int main(void) {
    const char *why;
    ox_device *gpu = between_gpu(false, &why);
    if (!gpu) return check_skipped("vulkan_share", why);
    CHECK(ox_device_close(gpu) == OX_OK);
    check_threads();
    check_two();
    check_renderer(between_get_instance, between_loader);
    check_renderer(between_system, NULL);
    check_volk();
    ox_shutdown();
    CHECK_NO_TENSORS();
    return check_done("vulkan_share");
}

#else
int main(void) {
    return check_skipped("vulkan_share", "no Vulkan headers");
}
#endif
