/* vulkan_between.h - a Vulkan loader between the library and the system's (ox_vulkan_use_loader,
 * ox_vulkan_desc): it lets the n-th call of a function fail, loses the device, shows other limits, a second
 * family of queues for transfers, each device twice, one that keeps subnormal numbers when it is asked
 * to, and counts what was made and not given back. The functions are wrapped by name; all others are the
 * driver's own. */
#ifndef VULKAN_BETWEEN_H
#define VULKAN_BETWEEN_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Calls that can fail, as the specification says, with out of memory or a lost device. */
typedef enum between_call {
    BETWEEN_SUBMIT,
    BETWEEN_WAIT,
    BETWEEN_ALLOCATE,
    BETWEEN_BUFFER,
    BETWEEN_BIND,
    BETWEEN_MAP,
    BETWEEN_BEGIN,
    BETWEEN_END,
    BETWEEN_PIPELINE,
    BETWEEN_MODULE,
    BETWEEN_POOL,
    BETWEEN_SETS,
    BETWEEN_FENCE,
    BETWEEN_DEVICE,
    BETWEEN_INSTANCE,
    BETWEEN_CALLS
} between_call;

static struct {
    /* to be set */
    between_call fails;
    long at; /* the call of that kind that fails; 0 = none */
    VkResult result;
    VkDeviceSize range;       /* maxStorageBufferRange; 0 = the driver's */
    VkDeviceSize free_bytes;  /* what the memory budget tells; 0 = the driver's */
    VkDeviceSize most_memory; /* bytes of device memory in all, beyond which allocation fails; 0 = any */
    int transfers;            /* so many queues, up to two, in a family for transfers only */
    int twice;                /* each physical device two times */
    int wrong;              /* copies take what lies behind */
    int keeps;              /* shaders may ask for subnormals of f32 to be kept; the driver is not told */
    /* to be looked at */
    long calls[BETWEEN_CALLS];
    int lost, fired;
    long alive; /* objects made and not destroyed */
    VkDeviceSize memory;    /* bytes allocated in all, */
    VkDeviceSize peak;      /* and the most so far: to be set to `memory` */
    long on_transfer_queue; /* submissions */
    long on_queue[2];       /* the same, by the queue's place in the family */
    long asked, asked_wrong; /* shaders that ask for subnormals, and not as the specification wants it */
} between;

static PFN_vkGetInstanceProcAddr between_system;
static PFN_vkGetDeviceProcAddr between_system_device;
/* Queues for transfers only, of the devices opened last: the driver's queue behind each. */
static struct between_transfer_queue {
    VkQueue real;
    uint32_t index; /* in its family */
} between_queues[8];
static int between_queue_next;
static VkDeviceSize between_sizes[4096];
static VkDeviceMemory between_memories[4096];

static long between_count(long *counter, long change) { /* threads of a test count together */
    return __atomic_add_fetch(counter, change, __ATOMIC_RELAXED);
}

/* What a call of this kind gives before the driver is asked. */
static VkResult between_ask(between_call call) {
    long number = between_count(&between.calls[call], 1);
    bool uses_device = call == BETWEEN_SUBMIT || call == BETWEEN_WAIT;
    if (between.at && call == between.fails && number == between.at) {
        between.fired++;
        if (between.result == VK_ERROR_DEVICE_LOST) between.lost = 1;
        return between.result;
    }
    return between.lost && uses_device ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

static inline void between_fail(between_call call, long at, VkResult result) {
    memset(between.calls, 0, sizeof between.calls);
    between.fails = call;
    between.at = at;
    between.result = result;
    between.fired = 0;
}

#define WRAP(name)                         \
    static PFN_##name between_real_##name; \
    static VKAPI_ATTR VkResult VKAPI_CALL between_##name
#define WRAP_VOID(name)                    \
    static PFN_##name between_real_##name; \
    static VKAPI_ATTR void VKAPI_CALL between_##name
#define ASK(call)                       \
    VkResult asked = between_ask(call); \
    if (asked != VK_SUCCESS) return asked
#define MADE(result) ((result) == VK_SUCCESS ? (between_count(&between.alive, 1), VK_SUCCESS) : (result))

/* ---- queues and memory --------------------------------------------------------------------------------- */

WRAP(vkQueueSubmit)
(VkQueue queue, uint32_t count, const VkSubmitInfo *info, VkFence fence) {
    ASK(BETWEEN_SUBMIT);
    for (int i = 0; i < 8; i++) {
        if (queue != (VkQueue)(void *)&between_queues[i]) continue;
        between.on_transfer_queue++;
        between.on_queue[between_queues[i].index]++;
        queue = between_queues[i].real;
        break;
    }
    return between_real_vkQueueSubmit(queue, count, info, fence);
}
WRAP(vkWaitForFences)
(VkDevice d, uint32_t count, const VkFence *fences, VkBool32 all, uint64_t timeout) {
    ASK(BETWEEN_WAIT);
    return between_real_vkWaitForFences(d, count, fences, all, timeout);
}
WRAP(vkGetFenceStatus)
(VkDevice d, VkFence fence) {
    return between.lost ? VK_ERROR_DEVICE_LOST : between_real_vkGetFenceStatus(d, fence);
}
WRAP(vkDeviceWaitIdle)
(VkDevice d) {
    VkResult result = between_real_vkDeviceWaitIdle(d);
    return between.lost ? VK_ERROR_DEVICE_LOST : result;
}
WRAP(vkAllocateMemory)
(VkDevice d, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *a, VkDeviceMemory *out) {
    ASK(BETWEEN_ALLOCATE);
    if (between.most_memory && between.memory + info->allocationSize > between.most_memory)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    VkResult result = between_real_vkAllocateMemory(d, info, a, out);
    for (int i = 0; result == VK_SUCCESS && i < 4096; i++)
        if (!between_memories[i]) {
            between_memories[i] = *out;
            between_sizes[i] = info->allocationSize;
            between.memory += info->allocationSize;
            if (between.memory > between.peak) between.peak = between.memory;
            break;
        }
    return MADE(result);
}
WRAP_VOID(vkFreeMemory)
(VkDevice d, VkDeviceMemory memory, const VkAllocationCallbacks *a) {
    for (int i = 0; memory && i < 4096; i++)
        if (between_memories[i] == memory) {
            between_memories[i] = VK_NULL_HANDLE;
            between.memory -= between_sizes[i];
            between_count(&between.alive, -1);
            break;
        }
    between_real_vkFreeMemory(d, memory, a);
}
WRAP(vkBindBufferMemory)
(VkDevice d, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset) {
    ASK(BETWEEN_BIND);
    return between_real_vkBindBufferMemory(d, buffer, memory, offset);
}
WRAP(vkMapMemory)
(VkDevice d, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size, VkMemoryMapFlags flags,
 void **out) {
    ASK(BETWEEN_MAP);
    return between_real_vkMapMemory(d, memory, offset, size, flags, out);
}
WRAP(vkCreateBuffer)
(VkDevice d, const VkBufferCreateInfo *info, const VkAllocationCallbacks *a, VkBuffer *out) {
    VkBufferCreateInfo own = *info;
    ASK(BETWEEN_BUFFER);
    own.sharingMode = VK_SHARING_MODE_EXCLUSIVE; /* the driver knows one family only */
    own.queueFamilyIndexCount = 0;
    if (between.transfers) info = &own;
    return MADE(between_real_vkCreateBuffer(d, info, a, out));
}

/* ---- commands ------------------------------------------------------------------------------------------ */

WRAP(vkBeginCommandBuffer)
(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info) {
    ASK(BETWEEN_BEGIN);
    return between_real_vkBeginCommandBuffer(commands, info);
}
WRAP(vkEndCommandBuffer)
(VkCommandBuffer commands) {
    ASK(BETWEEN_END);
    return between_real_vkEndCommandBuffer(commands);
}
WRAP_VOID(vkCmdCopyBuffer)
(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count, const VkBufferCopy *region) {
    VkBufferCopy moved = *region;
    if (between.wrong && moved.size > 4) moved.size -= 4, moved.srcOffset += 4;
    between_real_vkCmdCopyBuffer(commands, from, to, count, between.wrong ? &moved : region);
}
WRAP(vkCreateCommandPool)
(VkDevice d, const VkCommandPoolCreateInfo *info, const VkAllocationCallbacks *a, VkCommandPool *out) {
    VkCommandPoolCreateInfo own = *info;
    ASK(BETWEEN_POOL);
    if (between.transfers) own.queueFamilyIndex = 0;
    return MADE(between_real_vkCreateCommandPool(d, &own, a, out));
}
WRAP(vkAllocateDescriptorSets)
(VkDevice d, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *out) {
    ASK(BETWEEN_SETS);
    return between_real_vkAllocateDescriptorSets(d, info, out);
}
WRAP(vkCreateComputePipelines)
(VkDevice d, VkPipelineCache cache, uint32_t count, const VkComputePipelineCreateInfo *info,
 const VkAllocationCallbacks *a, VkPipeline *out) {
    ASK(BETWEEN_PIPELINE);
    return MADE(between_real_vkCreateComputePipelines(d, cache, count, info, a, out));
}

/* What asks for subnormals (SPV_KHR_float_controls), by instruction. */
typedef enum between_asks {
    BETWEEN_NOTHING,
    BETWEEN_CAPABILITY,
    BETWEEN_EXTENSION,
    BETWEEN_MODE
} between_asks;

static between_asks between_asks_of(const uint32_t *at) {
    uint32_t code = at[0] & 0xffff;
    if (code == 17 && at[1] == 4464) return BETWEEN_CAPABILITY;
    if (code == 10 && strcmp((const char *)(at + 1), "SPV_KHR_float_controls") == 0) return BETWEEN_EXTENSION;
    return code == 16 && at[2] == 4459 ? BETWEEN_MODE : BETWEEN_NOTHING;
}

/* Whether the instructions of a module follow each other in the order of the specification's logical layout
 * as far as its execution modes, whole ones to its end, and its mode is of its entry point, for 32 bits. */
static bool between_in_order(const uint32_t *code, size_t count) {
    static const uint32_t order[] = {17, 10, 11, 14, 15, 16}; /* capabilities ... modes */
    size_t stage = 0, i = 5;
    uint32_t entry = 0;
    for (; i < count && code[i] >> 16 && i + (code[i] >> 16) <= count; i += code[i] >> 16) {
        uint32_t kind = code[i] & 0xffff;
        size_t is = 0;
        while (is < 6 && order[is] != kind) is++;
        if (is < stage) return false;
        stage = is;
        if (kind == 15) entry = code[i + 2];
        bool mode = between_asks_of(code + i) == BETWEEN_MODE;
        if (mode && (code[i + 1] != entry || code[i + 3] != 32)) return false;
    }
    return i == count;
}

/* The driver gets the module without what asks for subnormals, which it may not know. */
WRAP(vkCreateShaderModule)
(VkDevice d, const VkShaderModuleCreateInfo *info, const VkAllocationCallbacks *a, VkShaderModule *out) {
    size_t count = info->codeSize / 4, left = 5;
    uint32_t *plain = (uint32_t *)malloc(info->codeSize), found = 0;
    VkShaderModuleCreateInfo own = *info;
    VkResult asked = between_ask(BETWEEN_MODULE);
    if (asked == VK_SUCCESS && plain) {
        memcpy(plain, info->pCode, 20);
        for (size_t i = 5, words; i < count; i += words) {
            between_asks asks = between_asks_of(info->pCode + i);
            words = info->pCode[i] >> 16;
            if (words == 0 || i + words > count) break;
            found |= 1u << asks;
            if (asks != BETWEEN_NOTHING) continue;
            memcpy(plain + left, info->pCode + i, words * 4);
            left += words;
        }
        between.asked += found != 1;
        if (found != 1) between.asked_wrong += found != 15 || !between_in_order(info->pCode, count);
        own.pCode = plain;
        own.codeSize = left * 4;
        asked = between_real_vkCreateShaderModule(d, between.keeps ? &own : info, a, out);
    }
    free(plain);
    return plain ? MADE(asked) : VK_ERROR_OUT_OF_HOST_MEMORY;
}

/* Made and destroyed with nothing to change: WRAP_PAIR(Fence, FENCE) is vkCreateFence and vkDestroyFence. */
#define WRAP_DESTROY(type)                                                                    \
    WRAP_VOID(vkDestroy##type)(VkDevice d, Vk##type object, const VkAllocationCallbacks *a) { \
        if (object) between_count(&between.alive, -1); \
        between_real_vkDestroy##type(d, object, a);                                           \
    }
#define WRAP_PAIR(type, call)                                                                       \
    WRAP(vkCreate##type)                                                                            \
    (VkDevice d, const Vk##type##CreateInfo *info, const VkAllocationCallbacks *a, Vk##type *out) { \
        ASK(call);                                                                                  \
        return MADE(between_real_vkCreate##type(d, info, a, out));                                  \
    }                                                                                               \
    WRAP_DESTROY(type)
WRAP_DESTROY(Buffer)
WRAP_DESTROY(CommandPool)
WRAP_DESTROY(Pipeline)
WRAP_PAIR(DescriptorPool, BETWEEN_POOL)
WRAP_PAIR(DescriptorSetLayout, BETWEEN_SETS)
WRAP_PAIR(Fence, BETWEEN_FENCE)
WRAP_PAIR(PipelineCache, BETWEEN_PIPELINE)
WRAP_PAIR(PipelineLayout, BETWEEN_PIPELINE)
WRAP_PAIR(QueryPool, BETWEEN_POOL)
WRAP_PAIR(Semaphore, BETWEEN_FENCE)
WRAP_DESTROY(ShaderModule)

/* ---- devices ------------------------------------------------------------------------------------------- */

WRAP(vkCreateDevice)
(VkPhysicalDevice physical, const VkDeviceCreateInfo *info, const VkAllocationCallbacks *a, VkDevice *out) {
    VkDeviceCreateInfo own = *info;
    ASK(BETWEEN_DEVICE);
    between.lost = 0;
    if (between.transfers) own.queueCreateInfoCount = 1;
    return MADE(between_real_vkCreateDevice(physical, &own, a, out));
}
WRAP_VOID(vkDestroyDevice)
(VkDevice d, const VkAllocationCallbacks *a) {
    if (d) between_count(&between.alive, -1);
    between_real_vkDestroyDevice(d, a);
}
WRAP(vkCreateInstance)
(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *a, VkInstance *out) {
    ASK(BETWEEN_INSTANCE);
    VkResult result = between_real_vkCreateInstance(info, a, out);
    if (result == VK_SUCCESS)
        between_system_device = (PFN_vkGetDeviceProcAddr)between_system(*out, "vkGetDeviceProcAddr");
    return MADE(result);
}
WRAP_VOID(vkDestroyInstance)
(VkInstance instance, const VkAllocationCallbacks *a) {
    if (instance) between_count(&between.alive, -1);
    between_real_vkDestroyInstance(instance, a);
}
WRAP_VOID(vkGetDeviceQueue)
(VkDevice d, uint32_t family, uint32_t index, VkQueue *out) {
    if (!between.transfers || family != 1) {
        between_real_vkGetDeviceQueue(d, family, index, out);
        return;
    }
    struct between_transfer_queue *queue = &between_queues[between_queue_next++ % 8];
    between_real_vkGetDeviceQueue(d, 0, 0, &queue->real);
    queue->index = index;
    *out = (VkQueue)(void *)queue;
}
WRAP(vkEnumeratePhysicalDevices)
(VkInstance instance, uint32_t *count, VkPhysicalDevice *out) {
    uint32_t room = *count;
    VkResult result = between_real_vkEnumeratePhysicalDevices(instance, count, out);
    if (!between.twice || result != VK_SUCCESS) return result;
    if (out && 2 * *count > room) return VK_INCOMPLETE;
    for (uint32_t i = *count; out && i-- > 0;) out[2 * i] = out[2 * i + 1] = out[i];
    *count *= 2;
    return VK_SUCCESS;
}
WRAP_VOID(vkGetPhysicalDeviceQueueFamilyProperties)
(VkPhysicalDevice physical, uint32_t *count, VkQueueFamilyProperties *out) {
    VkQueueFamilyProperties all[16];
    if (!between.transfers || !out) {
        between_real_vkGetPhysicalDeviceQueueFamilyProperties(physical, count, out);
    } else {
        uint32_t room = 0;
        between_real_vkGetPhysicalDeviceQueueFamilyProperties(physical, &room, NULL);
        if (room > 16) room = 16;
        between_real_vkGetPhysicalDeviceQueueFamilyProperties(physical, &room, all);
        out[0] = out[1] = all[0];
        out[1].queueFlags = VK_QUEUE_TRANSFER_BIT;
        out[1].queueCount = (uint32_t)between.transfers;
    }
    if (between.transfers) *count = 2;
}
WRAP_VOID(vkGetPhysicalDeviceProperties2)
(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *out) {
    between_real_vkGetPhysicalDeviceProperties2(physical, out);
    if (between.range) out->properties.limits.maxStorageBufferRange = (uint32_t)between.range;
    for (VkBaseOutStructure *p = (VkBaseOutStructure *)out->pNext; between.keeps && p; p = p->pNext)
        if (p->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES)
            ((VkPhysicalDeviceFloatControlsProperties *)(void *)p)->shaderDenormPreserveFloat32 = VK_TRUE;
}
WRAP_VOID(vkGetPhysicalDeviceMemoryProperties2)
(VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties2 *out) {
    between_real_vkGetPhysicalDeviceMemoryProperties2(physical, out);
    for (VkBaseOutStructure *p = (VkBaseOutStructure *)out->pNext; between.free_bytes && p; p = p->pNext)
        if (p->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT) {
            VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget =
                (VkPhysicalDeviceMemoryBudgetPropertiesEXT *)(void *)p;
            for (int i = 0; i < (int)VK_MAX_MEMORY_HEAPS; i++) {
                budget->heapUsage[i] = between.memory;
                budget->heapBudget[i] = between.free_bytes;
            }
        }
}

/* ---- by name ------------------------------------------------------------------------------------------- */

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL between_get_device(VkDevice device, const char *name);

#define BETWEEN_WRAPPED(X) \
    X(vkQueueSubmit) X(vkWaitForFences) X(vkGetFenceStatus) X(vkDeviceWaitIdle) X(vkAllocateMemory) \
    X(vkFreeMemory) X(vkBindBufferMemory) X(vkMapMemory) X(vkCreateBuffer) X(vkBeginCommandBuffer) \
    X(vkEndCommandBuffer) X(vkCmdCopyBuffer) X(vkCreateCommandPool) X(vkAllocateDescriptorSets) \
    X(vkCreateComputePipelines) X(vkDestroyBuffer) X(vkDestroyCommandPool) X(vkDestroyPipeline) \
    X(vkCreateDescriptorPool) X(vkDestroyDescriptorPool) X(vkCreateDescriptorSetLayout) \
    X(vkDestroyDescriptorSetLayout) X(vkCreateFence) X(vkDestroyFence) X(vkCreatePipelineCache) \
    X(vkDestroyPipelineCache) X(vkCreatePipelineLayout) X(vkDestroyPipelineLayout) X(vkCreateQueryPool) \
    X(vkDestroyQueryPool) X(vkCreateSemaphore) X(vkDestroySemaphore) X(vkCreateShaderModule) \
    X(vkDestroyShaderModule) X(vkCreateDevice) X(vkDestroyDevice) X(vkCreateInstance) \
    X(vkDestroyInstance) X(vkGetDeviceQueue) X(vkEnumeratePhysicalDevices) \
    X(vkGetPhysicalDeviceQueueFamilyProperties) X(vkGetPhysicalDeviceProperties2) \
    X(vkGetPhysicalDeviceMemoryProperties2)

/* The wrapping function of this name, with the driver's kept behind it; NULL: it is not wrapped. */
static PFN_vkVoidFunction between_wrapped(const char *name, PFN_vkVoidFunction real) {
#define X(function) \
    if (strcmp(name, #function) == 0) { \
        if (between_real_##function != (PFN_##function)real) between_real_##function = (PFN_##function)real; \
        return (PFN_vkVoidFunction)between_##function; \
    }
    BETWEEN_WRAPPED(X)
#undef X
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)between_get_device;
    return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL between_get_device(VkDevice device, const char *name) {
    PFN_vkVoidFunction real = between_system_device(device, name);
    PFN_vkVoidFunction wrapped = real ? between_wrapped(name, real) : NULL;
    return wrapped ? wrapped : real;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL between_get_instance(VkInstance instance, const char *name) {
    PFN_vkVoidFunction real = between_system(instance, name);
    PFN_vkVoidFunction wrapped = real ? between_wrapped(name, real) : NULL;
    return wrapped ? wrapped : real;
}

/* The same as the library takes it. */
static void *between_loader(void *instance, const char *name) {
    union {
        PFN_vkVoidFunction function;
        void *pointer;
    } got;
    got.function = between_get_instance((VkInstance)instance, name);
    return got.pointer;
}

/* The driver stays loaded: what it keeps for itself would be a leak once its code is gone. */
static void between_keep_driver(void) {
    VkInstanceCreateInfo info;
    VkInstance instance;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)between_system(NULL, "vkCreateInstance");
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    if (create) (void)create(&info, NULL, &instance);
}

/* False where there is no system loader. */
static inline bool between_begin(void) {
    union {
        void *pointer;
        PFN_vkGetInstanceProcAddr function;
    } got;
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    got.pointer = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    between_system = got.function;
    if (between_system) between_keep_driver();
    return between_system != NULL;
}

/* The first GPU, with the loader of this file between or not; NULL, and *why there is none. */
static inline ox_device *between_gpu(bool is_between, const char **why) {
    bool good = between_begin() && (!is_between || ox_vulkan_use_loader(between_loader) == OX_OK);
    ox_device *gpu = good ? ox_vulkan(0) : NULL;
    *why = gpu ? NULL : ox_error() ? ox_error_text() : "no Vulkan loader on this machine";
    return gpu;
}

#endif
