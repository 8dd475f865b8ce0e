/* What the parts of vulkan/ share: the device, its memory, the recorder, and how an op is dispatched.
 * A tensor's storage holds a chunk, a range of a block; shaders see whole blocks and take offsets.
 * Included by oxtorch_vulkan.h before the other parts. */
/* WORDS OF THIS ROOM
 *     block, chunk   device memory from the driver; a range of one, free or a tensor's
 *     lent           of memory that other tensors may lie over as well (shared buffers)
 *     epoch          counts barriers: when memory was last written and read. A dispatch takes the first one
 *                    in which it meets nothing, which may lie before that of the dispatch noted before it
 *     noted          put down to be recorded; a submission is written from its notes when it is sent
 *     batch, serial  the dispatches of one submission; its number
 *     slot           a command buffer and its fence; held: its commands, which may be submitted once more
 *     held back      a call that waits for the next, with which it may become one dispatch (fuse.c)
 *     ahead          a step recorded while the one before runs; box, mail: mapped memory for input and output
 *     carrier        the queues for transfers; carried: sent by them; way: to the device or from it
 *     stage          a part of the staging ring, which small transfers go through
 *     special        a specialization constant of a shader
 *     fault          an error that a shader found, such as an index out of range
 *     books          tables that the numbers of IQ1, IQ2 and IQ3 are looked up in */
#ifndef OX_VULKAN_INTERNAL_H
#define OX_VULKAN_INTERNAL_H

#include "vulkan/shared.h"

enum {
    OXI_VK_DEVICES = 16,               /* open at once */
    OXI_VK_USES = 34,                  /* operands of a dispatch; those after the bindings lie in the blocks
                                        * of bound ones */
    OXI_VK_SLOTS = 32,                 /* command buffers in flight: more than a step of training fills */
    OXI_VK_PARAM_ROOM = 1 << 18,       /* for the dispatches of a command buffer */
    OXI_VK_STAGES = 4,                 /* parts of the staging ring */
    OXI_VK_DIRECT = 8,                 /* transfers of pinned memory in flight */
    OXI_VK_DIRECTIONS = 2,             /* of transfers: to the device, from it */
    OXI_VK_STAGE_BYTES = 8 << 20,
    OXI_VK_ALIGN = 256,                /* of chunks */
    OXI_VK_SMALL = 1 << 15,            /* bytes of tensors that lie in blocks of their own: a token's rows and
                                        * the norms' weights, but no matrices */
    OXI_VK_SMALL_BLOCK = 32 << 20,
    OXI_VK_SMALL_SIZES = OXI_VK_SMALL / OXI_VK_ALIGN,
    OXI_VK_SIZES = OXI_VK_SMALL_SIZES + 32, /* lists of free chunks */
    OXI_VK_CHUNK_SLAB = 512,           /* chunks that come at a time */
    OXI_VK_RESTED = 8,                 /* barriers after which what used memory is far behind, */
    OXI_VK_LOOKED_AT = 64,             /* and how many free chunks are looked at for one of those */
    OXI_VK_BLOCKS = 1024,              /* then free ones are given back: drivers have few allocations, 4096 */
    OXI_VK_SETS = 256,                 /* descriptor sets of a pool */
    OXI_VK_FREQUENCIES = 4,            /* tables of rope that are kept */
    OXI_VK_ROUNDED = 2,                /* rows that products left rounded */
    OXI_VK_FIRST_BATCH = 6,            /* dispatches after which work is submitted to a device that waits */
    OXI_VK_BATCH = 108,                /* and to one that is busy: each batch is three times the last */
    OXI_VK_HELD_IN = 5,                /* operands of a call that is held back */
    OXI_VK_GROUP = 3,                  /* products of one dispatch, at most */
    OXI_VK_KEPT = 16,                  /* chunks that wait for calls that are held back, */
    OXI_VK_KEPT_BYTES = 1 << 20,       /* and the most that one of them has */
    OXI_VK_FEW_NORMS = 4,              /* rows of a norm that products take into themselves */
    OXI_VK_STAMPS = 512                /* times that the profiler takes of a command buffer */
};

#define OXI_VK_BATCH_BYTES ((uint64_t)4 << 30) /* that the dispatches of a batch may touch, about */

/* ---- functions ----------------------------------------------------------------------------------------- */

/* Tables of our own: a program that uses volk keeps the functions that it has loaded. */
typedef struct oxi_vk_instance_functions {
    PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr;
#define OXI_GLOBAL(name) PFN_vk##name vk##name;
#define OXI_INSTANCE(name) PFN_vk##name vk##name;
#define OXI_DEVICE(name)
#include "vulkan/driver/functions.def"
#undef OXI_GLOBAL
#undef OXI_INSTANCE
#undef OXI_DEVICE
} oxi_vk_instance_functions;

typedef struct oxi_vk_device_functions {
#define OXI_GLOBAL(name)
#define OXI_INSTANCE(name)
#define OXI_DEVICE(name) PFN_vk##name vk##name;
#include "vulkan/driver/functions.def"
#undef OXI_GLOBAL
#undef OXI_INSTANCE
#undef OXI_DEVICE
} oxi_vk_device_functions;

/* ---- memory -------------------------------------------------------------------------------------------- */

struct oxi_vk_device;

typedef struct oxi_vk_block {
    VkBuffer buffer;
    uint64_t base;                     /* where it begins in the buffer: 0, but in one of the caller's */
    VkDeviceMemory memory;             /* 0: the caller's buffer */
    uint64_t bytes, used;
    bool small;                        /* for tensors of up to OXI_VK_SMALL bytes */
    bool lent;                         /* others may lie over its bytes: see device.lent (share.c) */
    struct oxi_vk_chunk *first;        /* all of it, in order of offset */
    struct oxi_vk_block *next;
} oxi_vk_block;

/* When a dispatch last touched memory: the device counts barriers. */
typedef struct oxi_vk_epochs {
    int64_t written, read;
} oxi_vk_epochs;

/* A range of a block, free or in use. A free range keeps its epochs, so that who gets it next waits for who
 * had it last. */
typedef struct oxi_vk_chunk {
    oxi_vk_block *block;
    uint64_t offset, bytes;
    oxi_vk_epochs last;
    int64_t serial;                    /* the submission that touches it last */
    int64_t carried[OXI_VK_DIRECTIONS]; /* the transfers of either way, on queues of their own, that do */
    bool used;
    struct oxi_vk_chunk *before, *after;
    struct oxi_vk_chunk *free_before, *free_after; /* free ones of about its size */
} oxi_vk_chunk;

/* ---- recording ----------------------------------------------------------------------------------------- */

/* What the profiler wants to know of a dispatch. */
typedef struct oxi_vk_timed {
    oxi_profile_record record;         /* of its call */
    int64_t number;                    /* the call's */
} oxi_vk_timed;

/* A dispatch; with `from` a copy. Unused members are 0: commands are compared whole. */
typedef struct oxi_vk_command {
    VkPipeline pipeline;
    VkDescriptorSet set;
    VkBuffer from, to;
    VkBufferCopy region;
    uint32_t groups[3], params;        /* params: their place in the slot's room */
    uint32_t epoch, pushes;            /* counted from the submission's first one; 1: some are pushed */
} oxi_vk_command;

typedef struct oxi_vk_slot {
    VkCommandPool pool;                /* of its one command buffer */
    VkCommandBuffer commands;
    VkFence fence;
    int64_t serial;                    /* of the submission that it went with last; 0 = none yet */
    oxi_vk_command *held;              /* what the command buffer holds, [held_room] */
    uint32_t held_count, held_room;    /* count 0: nothing that may be submitted again */
    char *pushed;                      /* what those that push have pushed, [pushed_room] times */
    uint32_t pushed_room;
    double held_since;
    VkQueryPool queries;               /* timing.c */
    oxi_vk_timed *timed;               /* [OXI_VK_STAMPS], by the stamp behind the dispatch */
    int stamps;                        /* taken so far */
} oxi_vk_slot;

/* Host-visible memory that stays mapped. */
typedef struct oxi_vk_host_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    char *mapped;
    uint64_t bytes;
} oxi_vk_host_buffer;

/* Host memory that the device reaches itself (pin.c); hazards see it as a chunk of a block like any other. */
typedef struct oxi_vk_pin {
    struct oxi_vk_pin *next;
    oxi_vk_block block;
    oxi_vk_chunk chunk;
    char *host;                        /* where the buffer begins */
} oxi_vk_pin;

/* The queues for transfers (transfer_queue.c): a ring of pieces, and semaphores that count what is over. */
typedef enum oxi_vk_direction { OXI_VK_UP, OXI_VK_DOWN } oxi_vk_direction;
typedef struct oxi_vk_carried_piece {
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    int64_t serial;                    /* its number among those of its way, 0 = none yet */
    oxi_vk_direction way;
    char *out;                         /* where it goes when it has come down, or NULL */
    uint64_t bytes;
} oxi_vk_carried_piece;

typedef struct oxi_vk_carrier {
    VkSemaphore computed, carried[OXI_VK_DIRECTIONS]; /* count submissions, and pieces */
    PFN_vkWaitSemaphores wait;         /* of them, outside of the lock; NULL: not here */
    oxi_vk_carried_piece piece[OXI_VK_STAGES + OXI_VK_DIRECT]; /* of the ring, and without it (pin.c) */
    oxi_vk_host_buffer staging;
    int64_t serial[OXI_VK_DIRECTIONS], done[OXI_VK_DIRECTIONS]; /* pieces submitted, known to be over */
    int64_t ringed, direct;            /* those of the ring, and the others, of both ways */
    int64_t needed[OXI_VK_DIRECTIONS]; /* those that recorded work needs, .. */
    int64_t waited[OXI_VK_DIRECTIONS]; /* .. that a submission waits for */
} oxi_vk_carrier;

typedef struct oxi_vk_stage {
    uint64_t used;                     /* bytes */
    int64_t serial;                    /* the submission that reads or writes it last */
} oxi_vk_stage;

/* Driver objects by key (key_table.c). */
typedef struct oxi_vk_table {
    size_t key_bytes, places, count;   /* places: a power of two, or 0 */
    unsigned char *keys;               /* [places][key_bytes] */
    uint64_t *values;                  /* [places] handles; 0 = an empty place */
} oxi_vk_table;

typedef struct oxi_vk_pipeline_key {
    uint32_t shader;
    oxi_vk_specials special;
} oxi_vk_pipeline_key;

/* What shaders.def says of a shader. */
enum {
    OXI_VK_KEEPS_SUBNORMALS = 1,
    OXI_VK_IN_BF16 = 2,
    OXI_VK_SUBGROUPS = 4,
    OXI_VK_NO_ARITHMETIC = 8,
    OXI_VK_COPIES = 16,
    OXI_VK_PUSHED = 32 /* its first parameters are push constants, which are there at once */
};

/* The shaders; their code is in shaders.c. */
typedef enum oxi_vk_shader {
#define OXI_X(name, code, table, threads, traits) OXI_VK_SHADER_##name,
#include "vulkan/driver/shaders.def"
#undef OXI_X
    OXI_VK_SHADER_COUNT
} oxi_vk_shader;

/* Frequencies of rope that are on the device, and behind them as many pairs of one and zero. */
typedef struct oxi_vk_frequency {
    double base;
    int64_t dims;
    oxi_vk_chunk *chunk;
} oxi_vk_frequency;

/* What rope turns pairs by at a position, cosines and sines that are on the device: of that position as long
 * as it, and the factors, are not written anew. */
typedef struct oxi_vk_turns {
    double base, scale, magnitude;
    int64_t dims;
    ox_dtype dtype;                    /* of the position */
    const oxi_vk_chunk *of[2];         /* the position; the factors or NULL */
    uint64_t at[2];                    /* their bytes in the block */
    int64_t written[2], carried[2];    /* when they were written last */
    oxi_vk_chunk *chunk;
} oxi_vk_turns;

/* A row that a product left rounded as well, for a product of it: as long as the row is not written anew. */
typedef struct oxi_vk_rounded {
    const oxi_vk_chunk *of;            /* NULL: none */
    uint64_t at;                       /* its first byte in the block */
    int64_t k, written, carried;       /* numbers; when they were written last */
    oxi_vk_chunk *chunk;
    uint64_t bytes;                    /* of that */
} oxi_vk_rounded;

/* A view that a dispatch wrote, the last one that did so for whoever writes beside it in the same memory. */
typedef struct oxi_vk_placed {
    const oxi_vk_chunk *of;            /* NULL: none */
    int64_t written;                   /* when */
    ox_tensor view;                    /* without a storage */
} oxi_vk_placed;

/* An operand of a dispatch as far as hazards go. */
typedef struct oxi_vk_use {
    oxi_vk_chunk *chunk;
    bool writes;
    bool beside; /* elsewhere in it than whatever wrote there last: both may run at once */
} oxi_vk_use;

typedef struct oxi_vk_dispatch {
    oxi_vk_shader shader;
    oxi_vk_specials special;
    oxi_vk_use use[OXI_VK_USES];       /* by binding, then others */
    int uses;
    const void *params;
    uint32_t param_bytes;
    uint32_t groups[3];
    bool waits;                        /* nothing is submitted before the next one: it may be amended */
} oxi_vk_dispatch;

/* A product's dispatch that made a sum, the last one that did (product/router.c). */
typedef struct oxi_vk_sum_made {
    oxi_vk_chunk *of;                  /* NULL: none */
    uint32_t at, noted;                /* first element; which dispatch it is */
    int64_t n, written, serial;        /* numbers; when they were written; the submission before */
    oxi_vk_dispatch dispatch;          /* with bindings that are open */
    oxi_vk_product_params params;
} oxi_vk_sum_made;

/* Parts of a router's numbers (product/router.c). */
typedef struct oxi_vk_parts {
    oxi_vk_chunk *chunk;
    uint64_t bytes;                    /* of that */
    uint32_t each;                     /* of a number */
} oxi_vk_parts;

/* Work recorded ahead (prerecorded.c): two boxes of mapped memory take turns, so that one lot is recorded
 * while the other runs. A box: what goes up, what shaders found wrong, what comes down. */
typedef struct oxi_vk_box {
    int64_t number;                    /* of what runs or lies in it; 0: nothing that is to be taken */
    int64_t serial;                    /* of its submission */
    uint64_t up, down;                 /* bytes */
    bool told;                         /* what shaders found wrong comes down too */
} oxi_vk_box;

typedef struct oxi_vk_ahead {
    const void *recorder;              /* the thread that records; NULL: none does */
    int64_t number, waiting;           /* the last that was given; the one that is recorded, or 0 */
    bool keeps;                        /* it wrote what others will look for: it is run in any case */
    bool gap;                          /* barriers were recorded that went with void work */
    oxi_vk_slot *slot;                 /* ready for what is recorded, or NULL */
    oxi_vk_host_buffer mail;
    oxi_vk_box box[2];                 /* by the number's parity */
} oxi_vk_ahead;

/* A call that is held back by fuse.c, with its tensors and their storages as they were. */
typedef struct oxi_vk_held_call {
    oxi_call call;
    ox_tensor operand[OXI_VK_HELD_IN], result, *in[OXI_VK_HELD_IN];
    ox_storage storage[OXI_VK_HELD_IN], result_storage;
} oxi_vk_held_call;

/* A rope that is held back, with the norm before it, or behind it where that is late, and the copy of what
 * comes of both; any of them may be missing. */
typedef struct oxi_vk_held_turn {
    oxi_vk_held_call heads, rope, copy;
    bool normed, late, turned, copied;
} oxi_vk_held_turn;

/* A product of two tensors that is held back with what is done to it in place (steps.c). */
typedef struct oxi_vk_steps {
    oxi_vk_held_call first, window;
    uint32_t kept;                     /* rows of the window, a cat of what steps 1, 2 .. read; 0: none */
    int count;                         /* with the first; 0: nothing is held */
    uint32_t codes;
    oxi_vk_chunk *chunk[2 * OXI_VK_STEPS_MOST]; /* of two tensors a step, or NULL */
    uint32_t at[2 * OXI_VK_STEPS_MOST];
} oxi_vk_steps;

/* A router's calls that are held back (routing.c). Results are what route.comp gives, by its numbers. */
typedef struct oxi_vk_routing {
    oxi_vk_held_call call[2];          /* what makes scores and choices of the numbers, before topk */
    int calls;                         /* of those, before topk; 0 and not `chosen`: nothing is held */
    bool chosen;                       /* by topk: then one dispatch gives all of it */
    uint32_t scores, biased, picked, late, given;
    int shown;                         /* the result that the next call may be of */
    int64_t rows, experts, used;
    float least, scale;
    oxi_vk_chunk *chunk[OXI_VK_ROUTE_RESULTS], *numbers, *bias, *indices;
    uint32_t at[OXI_VK_ROUTE_RESULTS], numbers_at, bias_at, indices_at;
} oxi_vk_routing;

typedef struct oxi_vk_device {
    ox_device base;                    /* first: an ox_device * is one of these */
    bool open, lost, shared;
    bool inherited;                    /* of the parent process: this one is the child of a fork */
    char device_name[24];              /* "vulkan:0" */
    int place;
    oxi_lock lock;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    VkQueue transfer_queue[OXI_VK_DIRECTIONS]; /* with OX_VULKAN_CAP_TRANSFER; twice the same where the family
                                        * has one queue only */
    uint32_t queue_family, transfer_family, transfer_queues;
    void (*host_lock)(void *user);
    void (*host_unlock)(void *user);
    void *host_user;
    oxi_vk_instance_functions host;    /* of its instance */
    oxi_vk_device_functions vk;
    VkPhysicalDeviceLimits limits;
    VkPhysicalDeviceMemoryProperties memories;
    uint32_t caps, api_version, subgroup_size;
    VkShaderStageFlags subgroup_stages; /* that have subgroups, and whose size can be asked for */
    VkShaderStageFlags sized_stages;
    uint32_t subgroups_most;           /* of a workgroup whose size was asked for */
    VkBool32 keeps_subnormals;         /* of f32, for shaders that ask for it */
    uint32_t pushed_bytes;             /* of parameters, as push constants */
    uint32_t matrix_side;              /* of cooperative matrices that are used: 16, 8, or 0 */
    char driver[128], model[128];
    VkPhysicalDeviceType type;

    /* memory.c */
    oxi_vk_block *blocks;
    uint64_t block_bytes, tensor_bytes_most;
    uint64_t budget_bytes, bytes_peak; /* the most that may be reserved, 0 = no limit; the most ever in use */
    bool apart;                        /* each tensor in a block of its own: OX_VULKAN_BLOCKS=apart */
    int block_count;
    oxi_vk_chunk *free_chunks[2][OXI_VK_SIZES]; /* [in blocks for small tensors] */
    oxi_vk_chunk *chunk_slabs, *spare_chunks;   /* [OXI_VK_CHUNK_SLAB] each; of them, which nothing uses */
    uint32_t memory_type;
    int64_t chunks;                    /* in use */

    /* submission.c */
    oxi_vk_slot slot[OXI_VK_SLOTS];
    bool recording;                    /* a submission is open: what it will hold is noted */
    oxi_vk_command *commands;          /* [command_room] */
    uint32_t command_count, command_room;
    char *noted_params;                /* [OXI_VK_PARAM_ROOM] */
    uint32_t param_used;
    int64_t serial, done;              /* submissions made, known to be over */
    uint64_t work;                     /* bytes touched since the last submission */
    int recorded, batch;               /* dispatches and copies since then, and how many are enough */
#ifdef OXI_VK_BACKWARDS                /* as tests are compiled */
    bool backwards;                    /* OX_VULKAN_ORDER=backwards: from a barrier back to the one before */
#endif

    /* record.c */
    int64_t epoch;                     /* the last one that anything noted has */
    int64_t first_epoch, least_epoch;  /* of the submission's commands; of what comes next */
    uint32_t noted_epoch;              /* of what is noted next, counted from the first */
    uint32_t noted_at;                 /* the place of the last dispatch's parameters */
    oxi_vk_epochs lent;                /* of all lent blocks together: which of them overlap is not known */
    VkDescriptorSetLayout param_layout, buffer_layout;
    VkPipelineLayout layout;
    VkDescriptorSet param_set;
    VkDescriptorPool param_pool;
    VkDescriptorPool *pools;
    int pool_count, pool_used;
    oxi_vk_table sets;                 /* VkDescriptorSet by the blocks that it binds */
    oxi_vk_table pipelines;            /* VkPipeline by oxi_vk_pipeline_key */
    VkPipelineCache cache;
    char *cache_path;
    oxi_vk_host_buffer params;

    /* fuse.c */
    oxi_vk_held_call post, sum, norm, product[OXI_VK_GROUP], heads, rope, weigh, slots, router;
    int held_products, kept_count;
    bool held_post, held_norm, held_heads, held_rope; /* post: and sum, */
    bool held_late;                    /* heads: behind the rope that is held too */
    bool held_added;                   /* of what post would be of itself (oxi_vk_adds_late) */
    oxi_vk_chunk *added_to;            /* the sum that a product was added to last, and when */
    int64_t added_at;
    oxi_vk_chunk *late;                /* what was added so last: NULL, or given back when the next one is */
    bool held_weigh, held_slots;       /* of a product by experts that is held */
    bool held_router;                  /* set aside for the gate of its experts, whose products are held */
    oxi_vk_held_turn turn[2];          /* of q and k, set aside for the attention that they are made for */
    int held_turns;
    oxi_vk_held_call store;            /* the copy of v into its cache */
    bool held_store;
    oxi_vk_held_call latent[4];        /* attention_latent.c */
    int held_latent;
    oxi_vk_routing routing;
    oxi_vk_steps steps;
    oxi_vk_chunk *kept[OXI_VK_KEPT];   /* given back by who had it, but held calls are of it */
    bool norm_written;                 /* a product that met the held norm has written its result */

    oxi_vk_ahead ahead;

    /* timing.c */
    oxi_vk_timed *noted;               /* [OXI_VK_STAMPS], by the stamp behind the dispatch that is noted */
    int noted_stamps;                  /* of the open submission; 0: it is not timed */
    oxi_profile_record timed_call;     /* of what is being recorded */
    int64_t timed_number;
    double clock_ahead;                /* seconds of our clock when the device's began; 0: not known yet */

    /* transfer.c and transfer_queue.c */
    oxi_vk_carrier carrier;
    PFN_vkGetMemoryHostPointerPropertiesEXT host_pointer_properties; /* pin.c; NULL: not here */
    uint64_t import_align;             /* of pages that can be imported */
    oxi_vk_pin *pins;                  /* pin.c */
    int64_t pin_count;
    oxi_vk_host_buffer staging;
    oxi_vk_stage stage[OXI_VK_STAGES];
    int stage_current;

    oxi_vk_chunk *fault;               /* where shaders tell what they found wrong: oxi_vk_fault */
    oxi_vk_chunk *books;               /* of block types; NULL until one needs them */
    bool fault_told;                   /* one that may have was recorded since it was looked at */
    oxi_vk_frequency frequencies[OXI_VK_FREQUENCIES];
    oxi_vk_turns turns[OXI_VK_FREQUENCIES];
    oxi_vk_rounded rounded[OXI_VK_ROUNDED]; /* product/few.c */
    int rounded_at;                    /* the one that was left last */
    oxi_vk_placed placed;              /* ops/operand.c */
    oxi_vk_parts parts;                /* product/router.c */
    oxi_vk_sum_made sum_made;

    ox_vulkan_stats counters;
} oxi_vk_device;

/* ---- memory.c ------------------------------------------------------------------------------------------ */

static ox_status oxi_vk_host_buffer_make(oxi_vk_device *d, uint64_t bytes, VkBufferUsageFlags usage,
                                         VkMemoryPropertyFlags wanted, oxi_vk_host_buffer *out);
static void oxi_vk_host_buffer_drop(oxi_vk_device *d, oxi_vk_host_buffer *b);
/* Frees blocks that nothing is in; waits for the device first. */
static void oxi_vk_trim(oxi_vk_device *d);
static ox_status oxi_vk_alloc(ox_device *self, size_t bytes, void **out);
static void oxi_vk_free(ox_device *self, void *memory, size_t bytes);

/* ---- submission.c ------------------------------------------------------------------------------------- */

static ox_status oxi_vk_begin(oxi_vk_device *d);               /* makes sure that a submission is open */
static ox_status oxi_vk_submit(oxi_vk_device *d);              /* what is noted, if anything */
static ox_status oxi_vk_wait(oxi_vk_device *d, int64_t serial);
static ox_status oxi_vk_copy_region(oxi_vk_device *d, VkBuffer from, uint64_t from_offset, VkBuffer to,
                                    uint64_t to_offset, uint64_t bytes);
static ox_status oxi_vk_check(oxi_vk_device *d, VkResult result, const char *what);

/* ---- ops/chain.c -------------------------------------------------------------------------------------- */

/* All constants of a pipeline, [OXI_VK_CONSTANTS]: those of its key, and what follows from them; how many
 * count. */
static uint32_t oxi_vk_constants_of(const oxi_vk_pipeline_key *key, uint32_t *constants);

/* ---- prerecorded.c ------------------------------------------------------------------------------------ */

static void oxi_vk_enter(oxi_vk_device *d);                    /* takes the lock, to record something */
static void oxi_vk_ahead_void(oxi_vk_device *d);               /* something else is about to be noted */
static void oxi_vk_ahead_stop(oxi_vk_device *d);

/* ---- record.c ------------------------------------------------------------------------------------------ */

static ox_status oxi_vk_record(oxi_vk_device *d, const oxi_vk_dispatch *dispatch);
static oxi_vk_use oxi_vk_use_of(oxi_vk_chunk *chunk, bool writes); /* and nothing else */
/* Puts a barrier before what comes next if it conflicts with what is under way, and marks the uses. */
static ox_status oxi_vk_touch(oxi_vk_device *d, const oxi_vk_use *use, int count);
static void oxi_vk_forget_sets(oxi_vk_device *d);
static void oxi_vk_forget_commands(oxi_vk_device *d);
static ox_status oxi_vk_carry_wait(oxi_vk_device *d); /* until all transfers of transfer_queue.c are over */
static VkResult oxi_vk_make_commands(oxi_vk_device *d, uint32_t family, VkCommandPool *pool,
                                     VkCommandBuffer *commands);
static ox_status oxi_vk_flush(oxi_vk_device *d);               /* records the calls that are held back */
static void oxi_vk_let_go(oxi_vk_device *d);                   /* forgets them */
static bool oxi_vk_keep(oxi_vk_device *d, oxi_vk_chunk *chunk); /* until those that are of it are recorded */
/* Whether the dispatch that made a sum, which may be amended, is of the chunk (product/router.c). */
static bool oxi_vk_sum_uses(const oxi_vk_device *d, const oxi_vk_chunk *chunk);
static ox_status oxi_vk_check_open(const oxi_vk_device *d);    /* neither closed nor lost */

#endif
