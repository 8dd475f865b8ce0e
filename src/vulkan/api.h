/* Tensors on a GPU: devices, what they can do, sharing one with a renderer, counters.
 * Ops on such tensors are recorded and submitted in batches; only reading numbers waits.
 * Public interface of oxtorch_vulkan.h; no Vulkan header is needed to use it. */
#ifndef OX_VULKAN_API_H
#define OX_VULKAN_API_H

OX_EXTERN_C_BEGIN

/* ---- choosing a device --------------------------------------------------------------------------------- */

/* ox_vulkan - the device at place `index`: discrete GPUs first, then integrated ones, then software.
 * OX_VULKAN_DEVICE in the environment (a number or a part of a name) says which one is at place 0. The first
 * use of a device opens it and compares a few ops with the CPU; it stays open until ox_device_close. One that
 * was lost (its driver failed, or it was taken away) gives errors until its tensors are released; then this
 * opens it anew. OX_VULKAN_CAPS (a list such as "baseline" or "f16,subgroup") restricts what is used of it.
 * errors   NULL and OX_ERR_DEVICE: no volk.h when this was compiled, no loader, no driver, no such device, a
 *          lost device with tensors on it, or a driver that computes wrong; OX_ERR_ARG: OX_VULKAN_CAPS */
OX_API ox_device *ox_vulkan(int index);
/* Devices that ox_vulkan can open; 0, and no error, where there is no Vulkan. */
OX_API int ox_vulkan_count(void);

/* vkGetInstanceProcAddr: VkInstance and the functions are pointers. */
typedef void *(*ox_vulkan_loader)(void *instance, const char *name);

/* Vulkan comes from here instead of from the system's loader: from a driver that the program is linked with,
 * or from SDL_Vulkan_GetVkGetInstanceProcAddr and the like. NULL: from the system's again.
 * errors   OX_ERR_ARG while a device of ox_vulkan is open */
OX_API ox_status ox_vulkan_use_loader(ox_vulkan_loader loader);

/* What the device can do beyond the baseline, Vulkan 1.1, and is used; bits of ox_vulkan_info.caps. */
#define OX_VULKAN_CAP_LIST(X) \
    X(OX_VULKAN_CAP_F16, 0, "f16")               /* arithmetic of 16-bit floats: what coopmat stands on */ \
    X(OX_VULKAN_CAP_SIZES, 1, "subgroup_size")   /* EXT_subgroup_size_control: subgroups of one size */ \
    X(OX_VULKAN_CAP_DOT, 2, "dot")               /* KHR_shader_integer_dot_product */ \
    X(OX_VULKAN_CAP_SUBGROUP, 3, "subgroup")     /* arithmetic within subgroups */ \
    X(OX_VULKAN_CAP_COOPERATIVE, 4, "coopmat")   /* KHR_cooperative_matrix: f16 tiles with f32 sums */ \
    X(OX_VULKAN_CAP_BUDGET, 5, "budget")         /* EXT_memory_budget */ \
    X(OX_VULKAN_CAP_PRIORITY, 6, "priority")     /* EXT_memory_priority: tensors are the last to leave */ \
    X(OX_VULKAN_CAP_HOST_MEMORY, 11, "host_memory") /* EXT_external_memory_host: pinned pages of ours */ \
    X(OX_VULKAN_CAP_BF16, 7, "bf16")             /* KHR_shader_bfloat16: coopmat of bf16 */ \
    X(OX_VULKAN_CAP_F64, 8, "f64")               /* shaderFloat64: arithmetic of f64 */ \
    X(OX_VULKAN_CAP_TRANSFER, 9, "transfer")     /* a queue for transfers; KHR_timeline_semaphore */ \
    X(OX_VULKAN_CAP_SUBNORMALS, 10, "subnormals") /* KHR_shader_float_controls: those of f32 are kept */

enum {
#define OXI_X(name, bit, text) name = 1 << (bit),
    OX_VULKAN_CAP_LIST(OXI_X)
#undef OXI_X
};

typedef struct ox_vulkan_info {
    char name[128], driver[128];      /* as the driver tells them */
    const char *type;                 /* "discrete", "integrated", "virtual", "software", "other" */
    uint32_t api_version;             /* VK_MAKE_API_VERSION's packing */
    uint32_t caps;                    /* OX_VULKAN_CAP_F16 ... */
    int queue_family;
    uint32_t subgroup_size;
    uint64_t memory_bytes;            /* of device-local memory */
    uint64_t free_bytes;              /* by the driver's budget; memory_bytes less what is ours without one */
    uint64_t largest_tensor_bytes;
    bool shared;                      /* made by ox_vulkan_open from the caller's VkDevice */
} ox_vulkan_info;

/* errors   OX_ERR_ARG: not an open Vulkan device */
OX_API ox_status ox_vulkan_get_info(ox_device *device, ox_vulkan_info *out);

/* ---- sharing ------------------------------------------------------------------------------------------- */

/* A device that the caller made. Handles are passed as they are: VkInstance and so on are pointers. The
 * queue must be able to compute. lock and unlock (both or neither) are called around each use of the queue.
 * caps: what the device was made with, of OX_VULKAN_CAP_F16 ...: the extension that the list above names
 * and the features of its structure (coopmat: also shaderFloat16, storageBuffer16BitAccess and
 * vulkanMemoryModel with its DeviceScope); with 0 the baseline is used. The caller keeps everything alive
 * until ox_device_close, which destroys nothing of it. */
typedef struct ox_vulkan_desc {
    void *instance, *physical_device, *device, *queue;
    uint32_t queue_family;
    uint32_t caps;
    ox_vulkan_loader get_instance_proc_addr;   /* NULL: the system's */
    void (*lock)(void *user);
    void (*unlock)(void *user);
    void *user;
    const char *pipeline_cache;                /* file that keeps compiled pipelines, or NULL */
} ox_vulkan_desc;

/* errors   NULL: a missing handle, a device without what the baseline asks for, a failed self-test
 * Each submission begins behind all that the queue got before it, and what the queue gets later begins behind
 * it: work of the caller on the same queue needs no barrier against ours. */
OX_API ox_device *ox_vulkan_open(const ox_vulkan_desc *desc);

/* The tensor's VkBuffer (0 on error) and the place of its first byte in it. Work recorded so far is submitted
 * first; a caller's own work on the buffer goes to the same queue, after it. The buffer may be a storage
 * buffer and the source or destination of transfers. */
OX_API uint64_t ox_vulkan_buffer_of(ox_tensor *t, uint64_t *byte_offset);

/* A tensor over bytes of a buffer of the caller, which must have been made on this device with
 * VK_BUFFER_USAGE_STORAGE_BUFFER_BIT and both TRANSFER bits. release may be NULL.
 * errors   NULL: an offset that is no multiple of 256, a shape that does not fit into `bytes`
 * Several tensors may lie over the same bytes, also over those of a tensor that ox_vulkan_buffer_of was asked
 * about: each operation sees what those before it wrote. */
OX_API ox_tensor *ox_vulkan_from_buffer(ox_device *device, uint64_t buffer, uint64_t byte_offset,
                                        uint64_t bytes, ox_shape shape, ox_dtype dtype,
                                        ox_release_fn release, void *user);

/* ---- running ------------------------------------------------------------------------------------------- */

/* Keeps compiled pipelines in the file at `path`: read now, where there is one that was written whole and by
 * this driver, and written by ox_device_close, where it can be. Any other file is ignored; one that is forged
 * with a right sum goes to the driver, so keep it where nobody else writes. */
OX_API ox_status ox_vulkan_pipeline_cache(ox_device *device, const char *path);

typedef struct ox_vulkan_stats {
    int64_t allocations;      /* of device memory, from the driver */
    int64_t pipelines;        /* made */
    int64_t descriptor_sets;  /* made */
    int64_t dispatches;
    int64_t barriers;
    int64_t submits;
    int64_t waits;
    int64_t transfers;        /* submits to the queue for transfers */
    int64_t bytes_up, bytes_down;
    uint64_t bytes_in_use, bytes_reserved;
    int64_t imports;          /* transfers of pinned memory, which the device read or wrote itself */
    int64_t recordings;       /* command buffers that were written; other submits repeat one */
    int64_t rounded;          /* products whose row the product before them had rounded */
    int64_t chosen;           /* mixtures of experts whose router was no dispatch of its own */
} ox_vulkan_stats;

/* Since the device was opened; zeros for anything else than an open Vulkan device. */
OX_API ox_vulkan_stats ox_vulkan_get_stats(ox_device *device);

OX_EXTERN_C_END
#endif
