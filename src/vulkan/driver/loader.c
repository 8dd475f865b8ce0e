/* Finding devices: the loader, one VkInstance for all that ox_vulkan opens, its devices in order.
 * Functions are kept in tables of our own, one for each instance and device, so that a program that uses
 * Vulkan itself keeps what it has loaded. Called by the public functions of device.c and share.c. */

static oxi_vk_device oxi_vk_devices[OXI_VK_DEVICES];
static oxi_lock oxi_vk_open_lock;

/* The instance and its physical devices in the order of ox_vulkan. */
static struct {
    bool tried;
    PFN_vkGetInstanceProcAddr loader; /* the program's; NULL: the system's */
    VkInstance instance;
    oxi_vk_instance_functions vk;
    VkPhysicalDevice physical[OXI_VK_DEVICES];
    int count;
    char why[256];  /* there is no device */
    bool inherited; /* all of it is the parent process's: this one is the child of a fork */
} oxi_vk_host;

/* ---- functions ----------------------------------------------------------------------------------------- */

/* The system's loader; volk opens it, unless the program has done so. */
static PFN_vkGetInstanceProcAddr oxi_vk_system_loader(void) {
    if (!vkGetInstanceProcAddr && volkInitialize() != VK_SUCCESS) return NULL;
    return vkGetInstanceProcAddr;
}

/* Functions that need no instance; whether they are there. */
static bool oxi_vk_load_global(PFN_vkGetInstanceProcAddr loader, oxi_vk_instance_functions *out) {
    bool complete = true;
    memset(out, 0, sizeof *out);
    out->vkGetInstanceProcAddr = loader;
#define OXI_GLOBAL(name) \
    out->vk##name = (PFN_vk##name)loader(NULL, "vk" #name); \
    complete = complete && out->vk##name;
#define OXI_INSTANCE(name)
#define OXI_DEVICE(name)
#include "vulkan/driver/functions.def"
#undef OXI_GLOBAL
#undef OXI_INSTANCE
#undef OXI_DEVICE
    return complete;
}

static bool oxi_vk_load_instance(VkInstance instance, oxi_vk_instance_functions *out) {
    bool complete = true;
#define OXI_GLOBAL(name)
#define OXI_INSTANCE(name) \
    out->vk##name = (PFN_vk##name)out->vkGetInstanceProcAddr(instance, "vk" #name); \
    complete = complete && out->vk##name;
#define OXI_DEVICE(name)
#include "vulkan/driver/functions.def"
#undef OXI_GLOBAL
#undef OXI_INSTANCE
#undef OXI_DEVICE
    return complete;
}

static bool oxi_vk_load_device(const oxi_vk_instance_functions *host, VkDevice device,
                               oxi_vk_device_functions *out) {
    bool complete = true;
#define OXI_GLOBAL(name)
#define OXI_INSTANCE(name)
#define OXI_DEVICE(name) \
    out->vk##name = (PFN_vk##name)host->vkGetDeviceProcAddr(device, "vk" #name); \
    complete = complete && out->vk##name;
#include "vulkan/driver/functions.def"
#undef OXI_GLOBAL
#undef OXI_INSTANCE
#undef OXI_DEVICE
    return complete;
}

/* ---- the instance -------------------------------------------------------------------------------------- */

static const char *oxi_vk_type_name(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return "software";
    default: return "other";
    }
}

static int oxi_vk_rank(VkPhysicalDevice physical) {
    VkPhysicalDeviceProperties p;
    oxi_vk_host.vk.vkGetPhysicalDeviceProperties(physical, &p);
    switch (p.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 4;
    default: return 3;
    }
}

static char oxi_vk_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Whether `part` stands in `name`; letters may be of either case. */
static bool oxi_vk_names(const char *name, const char *part) {
    for (; *name; name++) {
        size_t same = 0;
        while (part[same] && oxi_vk_lower(name[same]) == oxi_vk_lower(part[same])) same++;
        if (!part[same]) return true;
    }
    return false;
}

/* The place of the device that OX_VULKAN_DEVICE names, by number or a part of its name; -1: none. */
static int oxi_vk_find_named(const char *wanted) {
    char *end = NULL;
    long number = strtol(wanted, &end, 10);
    if (!*end) return number >= 0 && number < oxi_vk_host.count ? (int)number : -1;
    for (int i = 0; i < oxi_vk_host.count; i++) {
        VkPhysicalDeviceProperties p;
        oxi_vk_host.vk.vkGetPhysicalDeviceProperties(oxi_vk_host.physical[i], &p);
        if (oxi_vk_names(p.deviceName, wanted)) return i;
    }
    return -1;
}

/* Discrete first, in the driver's order otherwise; the one that OX_VULKAN_DEVICE names before all. */
static void oxi_vk_sort_devices(void) {
    VkPhysicalDevice *list = oxi_vk_host.physical;
    for (int i = 1; i < oxi_vk_host.count; i++)
        for (int j = i; j > 0 && oxi_vk_rank(list[j]) < oxi_vk_rank(list[j - 1]); j--) {
            VkPhysicalDevice swap = list[j];
            list[j] = list[j - 1];
            list[j - 1] = swap;
        }
    const char *wanted = getenv("OX_VULKAN_DEVICE");
    if (!wanted || !*wanted || oxi_vk_host.count == 0) return;
    int at = oxi_vk_find_named(wanted);
    if (at < 0) {
        (void)snprintf(oxi_vk_host.why, sizeof oxi_vk_host.why,
                       "OX_VULKAN_DEVICE=%.100s is none of the %d devices", wanted, oxi_vk_host.count);
        oxi_vk_host.count = 0;
        return;
    }
    VkPhysicalDevice chosen = list[at];
    for (int i = at; i > 0; i--) list[i] = list[i - 1];
    list[0] = chosen;
}

/* NULL, or why there is no instance. */
static const char *oxi_vk_make_instance(void) {
    oxi_vk_instance_functions *vk = &oxi_vk_host.vk;
    PFN_vkGetInstanceProcAddr loader = oxi_vk_host.loader ? oxi_vk_host.loader : oxi_vk_system_loader();
    uint32_t version = 0;
    if (!loader) return "no Vulkan loader on this machine";
    if (!oxi_vk_load_global(loader, vk) || vk->vkEnumerateInstanceVersion(&version) != VK_SUCCESS ||
        version < VK_API_VERSION_1_1)
        return "the Vulkan loader of this machine is older than 1.1";
    VkApplicationInfo application;
    VkInstanceCreateInfo info;
    memset(&application, 0, sizeof application);
    memset(&info, 0, sizeof info);
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pEngineName = "OxTorch";
    application.apiVersion = VK_API_VERSION_1_3;
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    VkResult result = vk->vkCreateInstance(&info, NULL, &oxi_vk_host.instance);
    if (result != VK_SUCCESS) oxi_vk_host.instance = VK_NULL_HANDLE;
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) return "no Vulkan driver on this machine";
    if (result == VK_ERROR_LAYER_NOT_PRESENT) return "a layer that VK_INSTANCE_LAYERS names is missing";
    if (result != VK_SUCCESS) return "the Vulkan loader failed";
    return oxi_vk_load_instance(oxi_vk_host.instance, vk) ? NULL : "the Vulkan loader lacks functions of 1.1";
}

/* Our instance goes, when no device of it is open; the next call of ox_vulkan makes another. */
static void oxi_vk_forget_instance(void) {
    if (oxi_vk_host.inherited) return;
    PFN_vkGetInstanceProcAddr loader = oxi_vk_host.loader;
    if (oxi_vk_host.instance && oxi_vk_host.vk.vkDestroyInstance)
        oxi_vk_host.vk.vkDestroyInstance(oxi_vk_host.instance, NULL);
    memset(&oxi_vk_host, 0, sizeof oxi_vk_host);
    oxi_vk_host.loader = loader;
}

/* In the child of a fork: what drivers have in threads and in the kernel is the parent's, and who held a lock
 * is not there. Nothing of theirs is called any more, and their memory stays until the process ends. */
static void oxi_vk_in_child(void) {
    bool used = oxi_vk_host.instance || oxi_atomic_load(&oxi_vk_open_lock.state) != 0;
    for (int i = 0; i < OXI_VK_DEVICES; i++) {
        oxi_vk_device *d = &oxi_vk_devices[i];
        if (!d->device) continue;
        used = d->inherited = true;
        d->open = d->lost = false;
        d->held_norm = d->held_rope = false;
        d->held_products = 0;
        d->ahead.recorder = NULL;
        d->ahead.waiting = 0;
        oxi_lock_give(&d->lock);
    }
    if (used) {
        oxi_vk_host.inherited = true;
        oxi_vk_host.count = 0;
        (void)snprintf(oxi_vk_host.why, sizeof oxi_vk_host.why,
                       "it was opened before a fork, by the parent process; a child cannot use it");
    }
    oxi_lock_give(&oxi_vk_open_lock);
}

/* The next call of ox_vulkan looks around anew. An instance that has devices stays to the end of the process:
 * a driver that is unloaded and loaded again takes room for its thread-local variables each time, and a
 * process has it for some thirty times (NVIDIA's, with glibc). */
static void oxi_vk_look_again(void) {
    if (oxi_vk_host.count == 0) oxi_vk_forget_instance();
    oxi_vk_host.tried = false;
    oxi_vk_host.count = 0;
}

static void oxi_vk_look_around(void) {
    if (oxi_vk_host.tried || oxi_vk_host.inherited) return;
    oxi_on_fork(oxi_vk_in_child);
    oxi_vk_host.tried = true;
    const char *why = oxi_vk_host.instance ? NULL : oxi_vk_make_instance();
    if (!why) {
        uint32_t count = OXI_VK_DEVICES;
        VkResult result =
            oxi_vk_host.vk.vkEnumeratePhysicalDevices(oxi_vk_host.instance, &count, oxi_vk_host.physical);
        oxi_vk_host.count = result == VK_SUCCESS || result == VK_INCOMPLETE ? (int)count : 0;
        oxi_vk_sort_devices();
        if (oxi_vk_host.count == 0) why = "no Vulkan device on this machine";
    }
    if (why && !oxi_vk_host.why[0]) (void)snprintf(oxi_vk_host.why, sizeof oxi_vk_host.why, "%s", why);
}
